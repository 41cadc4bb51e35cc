"""Senders of several kinds through a queue: RFC 7928, sections 5 and 6."""

from __future__ import annotations

from netwarp.suite.case import Axis, Bar, Group, Measure
from netwarp.suite.networks import (
    CALL_DELAY,
    FAIRNESS,
    LOST,
    QUEUE_P95,
    UTILISATION,
    bulk,
    call,
    far_host,
    goodput,
    queue_case,
)
from netwarp.verify.rows.networks import flow

_ALL = (UTILISATION, QUEUE_P95, CALL_DELAY, FAIRNESS, LOST)

SENDERS = Group(
    "senders",
    "Kinds of senders",
    (
        queue_case(
            "friendly",
            "Four senders of Reno, which halve their window at each loss.",
            "RFC 7928, 5.1",
            _ALL,
            (bulk("tcp", cc="reno", count=4), call("call")),
            quick=True,
        ),
        queue_case(
            "aggressive",
            "Four senders that yield less than Reno.",
            "RFC 7928, 5.2",
            _ALL,
            (bulk("tcp", cc="cubic", count=4), call("call")),
            axis=Axis("flows.tcp.cc", {"cubic": "CUBIC", "bbr": "BBR"}),
            quick=True,
        ),
        queue_case(
            "mixed",
            "Two senders of Reno, two of CUBIC.",
            "RFC 7928, 5.1 and 5.2",
            _ALL,
            (bulk("reno", cc="reno", count=2), bulk("cubic", cc="cubic", count=2), call("call")),
        ),
        queue_case(
            "unresponsive",
            "Two senders of Reno beside 6 Mbit/s of UDP, which does not yield.",
            "RFC 7928, 5.3",
            (
                goodput("tcp", Bar.REPORT, "what Reno gets"),
                Measure("queueing delay of Reno, p95", "flow", "tcp", "queue_ms_p95"),
                CALL_DELAY,
                UTILISATION,
            ),
            (bulk("tcp", cc="reno", count=2), flow("udp", "cbr", rate="6mbit"), call("call")),
        ),
        queue_case(
            "background",
            "A sender of Reno beside one of TCP-LP, which wants to yield to it.",
            "RFC 7928, 5.4",
            (goodput("tcp", Bar.REPORT, "what Reno gets"), QUEUE_P95, UTILISATION),
            (bulk("tcp", cc="reno"), bulk("background", cc="lp")),
        ),
        queue_case(
            "rtts",
            "Senders of 40 and of 160 ms: how evenly they share.",
            "RFC 7928, 6",
            (
                FAIRNESS,
                Measure("share of the far sender", "flow", "far", "share_pct", Bar.REPORT),
                UTILISATION,
                QUEUE_P95,
            ),
            (bulk("tcp", cc="reno"), bulk("far", source="h3", cc="reno")),
            more=far_host("h3", "60ms"),
        ),
    ),
)
