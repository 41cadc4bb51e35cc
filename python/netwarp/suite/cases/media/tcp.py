"""Streams beside TCP: RFC 8867, sections 5.6 and 5.7."""

from __future__ import annotations

from netwarp.suite.case import Bar, Group, Measure
from netwarp.suite.cases.media.network import DELAY, GONE, RATE, media_case, video
from netwarp.suite.networks import UTILISATION, bulk
from netwarp.verify.rows.networks import flow

BESIDE_TCP = Group(
    "beside-tcp",
    "Streams beside TCP",
    (
        media_case(
            "long-tcp",
            "A stream that begins after 5 s beside a download of CUBIC, on 2 Mbit/s.",
            "5.6",
            (
                RATE,
                DELAY,
                GONE,
                Measure("goodput of the download", "flow", "download", "goodput_mbps", Bar.REPORT),
                UTILISATION,
            ),
            (bulk("download"), video(start="5s")),
            rate="2mbit",
            duration="120s",
            warmup="20s",
            quick=True,
        ),
        media_case(
            "short-tcp",
            "Two streams beside ten users who load 550 kB each, 10 s on average after the last load, on 2 Mbit/s.",
            "5.7; its sizes are uniform from 100 kB to 1 MB",
            (
                RATE,
                DELAY,
                GONE,
                Measure("completion of 550 kB, p95", "flow", "web", "completion_ms_p95", Bar.REPORT),
                UTILISATION,
            ),
            (
                video(count=2, start="5s"),
                flow("web", "request", source="h2", to="h1", response_size="550kB", think="10s exponential", count=10),
            ),
            rate="2mbit",
            duration="300s",
            warmup="20s",
        ),
    ),
)
