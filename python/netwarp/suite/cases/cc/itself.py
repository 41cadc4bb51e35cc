"""A control among flows of its own kind: RFC 9743, section 5.1.4."""

from __future__ import annotations

from dataclasses import replace

from netwarp.suite.case import Bar, Group, Measure
from netwarp.suite.networks import (
    CONTROL,
    DROPS,
    FAIRNESS,
    QUEUE_P95,
    ROOM,
    UTILISATION,
    buffers,
    bulk,
    case,
    far_host,
)

ITSELF = Group(
    "itself",
    "Beside flows of its own kind",
    (
        case(
            "four",
            "Four flows share the link evenly, fill it, and lose few packets.",
            "RFC 9743, 5.1.3 and 5.1.4",
            (FAIRNESS, UTILISATION, DROPS, QUEUE_P95),
            (bulk("subject", count=4),),
            axis=buffers(0.5, 2),
            quick=True,
        ),
        case(
            "many",
            "Thirty flows share the link, each with few packets in flight.",
            "RFC 9743, 5.1.3 and 5.1.4",
            (FAIRNESS, UTILISATION, DROPS),
            (bulk("subject", count=30, start="1s", connect_ahead="1s"),),
            more=ROOM,
        ),
        case(
            "newcomer",
            "A flow that begins later soon gets its share: Jain's index of the first 15 s with both.",
            "RFC 9743, 5.1.4",
            (replace(FAIRNESS, words="Jain's index of each second, mean", metric="jain_index_1s_mean"),),
            (bulk("subject"), bulk("newcomer", start="15s")),
            sets=(CONTROL, "flows.newcomer.cc"),
            duration="30s",
            warmup="15s",
            queue="pfifo limit 2BDP",
        ),
        case(
            "rtts",
            "The part of the link that a flow of 160 ms gets beside one of 40 ms.",
            "RFC 9743, 5.1.4",
            (Measure("share of the far flow", "flow", "far", "share_pct", Bar.REPORT),),
            (bulk("subject"), bulk("far", source="h3")),
            sets=(CONTROL, "flows.far.cc"),
            more=far_host("h3", "60ms"),
        ),
    ),
)
