"""A control beside CUBIC, Reno and BBR: RFC 9743, section 5.2, by the harm of R. Ware et al. (HotNets 2019)."""

from __future__ import annotations

from netwarp.suite.case import Axis, Bar, Group, Measure
from netwarp.suite.networks import DELAY, QUEUE, ROOM, buffers, bulk, case, harm

_OTHERS = bulk("cubic")
_BOTH = harm("cubic", "goodput", "rtt_p95")
_ALL = (
    *_BOTH,
    Measure("segments that CUBIC sends again", "flow", "cubic", "retransmit_pct", Bar.HARM, margin=1.0, why="1 of 100"),
)
_LONE = "flows.subject.count"

OTHERS = Group(
    "others",
    "Beside other controls",
    (
        case(
            "buffers",
            "One flow beside one of CUBIC, in buffers from a quarter to sixteen BDP.",
            "RFC 9743, 5.2.1 and 6.1; R. Ware et al., 4",
            _ALL,
            (_OTHERS, bulk("subject")),
            axis=buffers(0.25, 1, 4, 16),
            lone=_LONE,
            quick=True,
        ),
        case(
            "delays",
            "One flow beside one of CUBIC, on a short and on a long path.",
            "RFC 9743, 5.2.1 and 6",
            _BOTH,
            (_OTHERS, bulk("subject")),
            axis=Axis(DELAY, {"5ms": "RTT of 10 ms", "100ms": "RTT of 200 ms"}),
            lone=_LONE,
        ),
        case(
            "four-and-four",
            "Four flows beside four of CUBIC.",
            "RFC 9743, 5.2.1",
            _ALL,
            (bulk("cubic", count=4), bulk("subject", count=4)),
            lone=_LONE,
            queue="pfifo limit 2BDP",
            more=ROOM,
        ),
        case(
            "latecomer",
            "A flow that begins when CUBIC already has the link.",
            "RFC 9743, 5.2.1 (starvation)",
            _BOTH,
            (_OTHERS, bulk("subject", start="10s")),
            lone=_LONE,
            queue="pfifo limit 2BDP",
        ),
        case(
            "queues",
            "One flow beside one of CUBIC, in queues that keep delays short; those with ECN mark instead of dropping.",
            "RFC 9743, 7.1",
            _BOTH,
            (_OTHERS, bulk("subject")),
            axis=Axis(
                QUEUE,
                {
                    "codel limit 1000 noecn": "CoDel",
                    "pie limit 1000 ecn": "PIE with ECN",
                    "fq_codel": "fq_codel with ECN",
                },
            ),
            lone=_LONE,
        ),
        case(
            "random-loss",
            "One flow beside one of CUBIC, where one packet of a thousand is lost without congestion.",
            "RFC 9743, 6.4",
            _BOTH,
            (_OTHERS, bulk("subject")),
            lone=_LONE,
            loss="0.1%",
        ),
        case(
            "dualpi2",
            "One flow beside one of CUBIC, in the two queues of L4S: an L4S control has the other queue.",
            "RFC 9743, 7.1; RFC 9332",
            _BOTH,
            (_OTHERS, bulk("subject")),
            lone=_LONE,
            queue="dualpi2",
            modules=["sch_dualpi2.c"],
        ),
        case(
            "beside-reno",
            "One flow beside one of Reno.",
            "RFC 9743, 5.2.1",
            harm("reno", "goodput", "rtt_p95", to="Reno's"),
            (bulk("reno", cc="reno"), bulk("subject")),
            lone=_LONE,
        ),
        case(
            "beside-bbr",
            "One flow beside one of BBR, which is not a standard, but common.",
            "RFC 9743, 5.2.1",
            harm("bbr", "goodput", to="BBR's", bar=Bar.REPORT),
            (bulk("bbr", cc="bbr"), bulk("subject")),
            axis=buffers(0.5, 2),
            lone=_LONE,
        ),
    ),
)
