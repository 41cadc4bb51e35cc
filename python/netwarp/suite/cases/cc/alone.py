"""A control alone on a path: RFC 9743, section 5.1."""

from __future__ import annotations

from netwarp.suite.case import Axis, Group, Measure
from netwarp.suite.networks import DELAY, DROPS, QUEUE_P95, ROOM, UTILISATION, buffers, bulk, case, requests

ALONE = Group(
    "alone",
    "Alone on the path",
    (
        case(
            "single",
            "One flow fills the link and keeps no long queue, whatever the buffer.",
            "RFC 9743, 5.1.2, 5.1.3 and 6.1",
            (UTILISATION, QUEUE_P95, DROPS),
            (bulk("subject"),),
            axis=buffers(0.25, 1, 4, 16),
            quick=True,
        ),
        case(
            "near-and-far",
            "One flow fills the link when the path is short, and when it is long.",
            "RFC 9743, 6 (a range of delays) and 7.5",
            (UTILISATION, QUEUE_P95),
            (bulk("subject"),),
            axis=Axis(DELAY, {"5ms": "RTT of 10 ms", "150ms": "RTT of 300 ms"}),
        ),
        case(
            "collapse",
            "Forty flows back off on a path that holds fewer packets than there are flows.",
            "RFC 9743, 5.1.1",
            (DROPS, UTILISATION),
            (bulk("subject", count=40, start="2s", connect_ahead="2s"),),
            rate="2mbit",
            queue="pfifo limit 10",
            more=ROOM,
        ),
        case(
            "short-flows",
            "A transfer that ends within slow start is as fast as the baseline's.",
            "RFC 9743, 5.1.5",
            (Measure("completion of 100 kB, p95", "flow", "subject", "completion_ms_p95"),),
            (requests("subject", "100kB", "500ms exponential"),),
        ),
    ),
)
