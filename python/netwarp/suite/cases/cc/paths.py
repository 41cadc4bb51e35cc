"""A control on paths that lose, reorder, police, vary or break: RFC 9743, sections 6.4 and 7."""

from __future__ import annotations

from netwarp.suite.case import Axis, Group, Measure
from netwarp.suite.networks import (
    DROPS,
    QUEUE_P95,
    UTILISATION,
    bulk,
    case,
    changes,
    far_host,
    goodput,
    policer,
)

_GOODPUT = goodput("subject")
_RTT = Measure("RTT, p95", "flow", "subject", "rtt_ms_p95")

PATHS = Group(
    "paths",
    "On difficult paths",
    (
        case(
            "losses",
            "Packets are lost without congestion.",
            "RFC 9743, 6.4",
            (_GOODPUT,),
            (bulk("subject"),),
            axis=Axis("links.bottleneck.loss", {"0.1%": "0.1 % lost", "1%": "1 % lost"}),
            quick=True,
        ),
        case(
            "reordering",
            "One packet of twenty overtakes the five before it.",
            "RFC 9743, 7.7",
            (_GOODPUT,),
            (bulk("subject", source="h3"),),
            # netem lets a packet overtake by leaving out the wire's delay, so that is a small part of the path's.
            delay="6ms",
            wire='reorder = "5%"',
            queue="pfifo limit 34",
            more=far_host("h3", "14ms"),
        ),
        case(
            "policer",
            "A policer drops what is above 10 Mbit/s, in front of a link of 40 Mbit/s.",
            "RFC 9743, 6 (queue depths: none); draft-ietf-ccwg-bbr, appendix, Handling Token Bucket Policers",
            (
                goodput("subject"),
                Measure("segments sent again", "flow", "subject", "retransmit_pct", margin=1.0, why="1 of 100"),
            ),
            (bulk("subject"),),
            more=policer("10mbit", "50kb"),
            rate="40mbit",
        ),
        case(
            "radio",
            "The link's rate varies as that of LTE and of Wi-Fi.",
            "RFC 9743, 6.4",
            (UTILISATION, _RTT),
            (bulk("subject"),),
            axis=Axis("links.bottleneck.trace", {"lte": "LTE", "wifi": "Wi-Fi"}),
            rate="",
            wire='trace = "lte"',
            queue="pfifo limit 200",
        ),
        case(
            "other-route",
            "The path's delay rises from 40 to 100 ms and falls again, every 10 s.",
            "RFC 9743, 7.3 and 7.9",
            (_GOODPUT, QUEUE_P95),
            (bulk("subject"),),
            more=changes(("10s", 'delay = "50ms"'), ("20s", 'delay = "20ms"'), ("30s", 'delay = "50ms"')),
        ),
        case(
            "less-capacity",
            "The link's rate falls from 10 to 2 Mbit/s for 10 s.",
            "RFC 9743, 7.8 and 7.9",
            (UTILISATION, QUEUE_P95, DROPS),
            (bulk("subject"),),
            warmup="20s",
            queue="pfifo limit 66",
            more=changes(("20s", 'rate = "2mbit"'), ("30s", 'rate = "10mbit"')),
        ),
        case(
            "outage",
            "Nothing passes for 3 s, and then everything again.",
            "RFC 9743, 5.2 (loss of all feedback) and 7.8",
            (_GOODPUT, Measure("segments sent again", "flow", "subject", "retransmit_pct", margin=1.0, why="1 of 100")),
            (bulk("subject"),),
            more=changes(("15s", 'outage = "3s"')),
        ),
    ),
)
