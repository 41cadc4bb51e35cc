"""Bursts, levels of congestion and changes: RFC 7928, sections 7 and 8."""

from __future__ import annotations

from netwarp.suite.case import Axis, Group, Measure
from netwarp.suite.networks import (
    CALL_DELAY,
    FAIRNESS,
    LOST,
    QUEUE_P95,
    UTILISATION,
    bulk,
    call,
    changes,
    queue_case,
)
from netwarp.verify.rows.networks import flow

_BURSTS = flow("bursts", "incast", source="h2", to="h1", senders=4, response_size="14kB", think="500ms", cc="reno")

LOAD = Group(
    "load",
    "Bursts, load and capacity",
    (
        queue_case(
            "bursts",
            "Bursts of 40 packets into an otherwise empty link pass without a loss.",
            "RFC 7928, 7",
            (
                Measure("completion of a burst, p95", "flow", "bursts", "completion_ms_p95"),
                Measure("packets of bursts dropped", "queue", "bottleneck:r1", "drop_pct"),
            ),
            (_BURSTS,),
        ),
        queue_case(
            "levels",
            "Mild, medium and heavy congestion: 2, 8 and 40 senders of Reno.",
            "RFC 7928, 8.2.2 to 8.2.4; the numbers are netwarp's",
            (UTILISATION, QUEUE_P95, CALL_DELAY, LOST),
            (bulk("tcp", cc="reno", count=2, start="1s", connect_ahead="1s"), call("call")),
            axis=Axis("flows.tcp.count", {2: "mild", 8: "medium", 40: "heavy"}),
            quick=True,
        ),
        queue_case(
            "varying-load",
            "Senders of Reno come and go: 2, then 20, then 2 again, 15 s each.",
            "RFC 7928, 8.2.5",
            (UTILISATION, QUEUE_P95, CALL_DELAY),
            (
                bulk("tcp", cc="reno", count=2),
                bulk("more", cc="reno", count=18, start="15s", duration="15s", connect_ahead="1s"),
                call("call"),
            ),
            duration="45s",
            warmup="5s",
        ),
        queue_case(
            "varying-capacity",
            "The link's rate falls from 10 to 2 Mbit/s and rises again, every 10 s.",
            "RFC 7928, 8.2.6",
            (UTILISATION, QUEUE_P95, CALL_DELAY),
            (bulk("tcp", cc="reno", count=4), call("call")),
            more=changes(("10s", 'rate = "2mbit"'), ("20s", 'rate = "10mbit"'), ("30s", 'rate = "2mbit"')),
        ),
        queue_case(
            "slow-and-fast",
            "Four senders of Reno on links of 1 and of 50 Mbit/s, with the same options of the queue.",
            "RFC 7928, 8.3 and 12",
            (UTILISATION, QUEUE_P95, FAIRNESS),
            (bulk("tcp", cc="reno", count=4),),
            axis=Axis("links.bottleneck.rate", {"1mbit": "1 Mbit/s", "50mbit": "50 Mbit/s"}),
            duration="30s",
        ),
    ),
)
