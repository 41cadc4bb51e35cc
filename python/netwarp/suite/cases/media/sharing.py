"""Streams that share a bottleneck: RFC 8867, sections 5.4, 5.5 and 5.8."""

from __future__ import annotations

from netwarp.suite.case import Group, Measure
from netwarp.suite.cases.media.network import DELAY, GONE, RATE, SHARES, VIDEO, media_case, video
from netwarp.suite.networks import UTILISATION, far_host

_ONE_WAY_MS = (10, 25, 50, 100, 150)
_OF_BOTTLENECK_MS = 5
_PAUSES = "".join(
    f'[[changes]]\nflow = "paused"\nat = "{at}s"\nactive = {active}\n' for at, active in ((40, 0), (60, 1))
)

SHARING = Group(
    "media",
    "Streams among themselves",
    (
        media_case(
            "newcomers",
            "Three streams share 3.5 Mbit/s; they begin at 0, 20 and 40 s. The second minute counts.",
            "5.4",
            (SHARES, RATE, DELAY, GONE, UTILISATION),
            (video(), video("second", start="20s"), video("third", start="40s")),
            rate="3500kbit",
            duration="120s",
            warmup="60s",
            quick=True,
        ),
        media_case(
            "round-trips",
            "Five streams share 4 Mbit/s, 10, 25, 50, 100 and 150 ms one way; they begin 10 s after each other.",
            "5.5",
            (
                SHARES,
                Measure("media rate at 10 ms", "flow", f"{VIDEO}-10", "media_rate_mbps_mean"),
                Measure("media rate at 150 ms", "flow", f"{VIDEO}-150", "media_rate_mbps_mean"),
                UTILISATION,
            ),
            tuple(
                video(f"{VIDEO}-{ms}", source=f"m{ms}", start=f"{10 * number}s")
                for number, ms in enumerate(_ONE_WAY_MS)
            ),
            rate="4mbit",
            delay=f"{_OF_BOTTLENECK_MS}ms",
            duration="300s",
            warmup="100s",
            more="".join(far_host(f"m{ms}", f"{ms - _OF_BOTTLENECK_MS}ms") for ms in _ONE_WAY_MS),
        ),
        media_case(
            "pause",
            "Three streams share 3.5 Mbit/s; one of them pauses from 40 to 60 s.",
            "5.8",
            (RATE, DELAY, GONE, UTILISATION, Measure("rate of the one that pauses", "flow", "paused", RATE.metric)),
            (video(count=2), video("paused")),
            rate="3500kbit",
            duration="120s",
            more=_PAUSES,
        ),
    ),
)
