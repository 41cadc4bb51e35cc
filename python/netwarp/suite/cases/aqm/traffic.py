"""Mixtures of traffic, both directions, and ECN: RFC 7928, sections 4.5 and 9."""

from __future__ import annotations

from netwarp.suite.case import Case, Group, Measure
from netwarp.suite.networks import (
    CALL_DELAY,
    CALL_LOST,
    LOST,
    QUEUE_P95,
    UTILISATION,
    bulk,
    call,
    goodput,
    queue_case,
    requests,
)

_WEB = Measure("completion of 50 kB, p95", "flow", "web", "completion_ms_p95")
_ECN = '[tuners.ecn]\nsysctl = { "net.ipv4.tcp_ecn" = 1 }\n[run]\ntuner = "ecn"\n'

TRAFFIC = Group(
    "traffic",
    "Mixtures of traffic",
    (
        queue_case(
            "mix",
            "Four users of the web, a call and a download of CUBIC share the link.",
            "RFC 7928, 9.1",
            (_WEB, CALL_DELAY, CALL_LOST, goodput("bulk", words="goodput of the download"), UTILISATION),
            (requests("web", "50kB", "500ms exponential"), call("call"), bulk("bulk")),
            quick=True,
        ),
        queue_case(
            "both-directions",
            "Downloads while an upload fills the other direction.",
            "RFC 7928, 9.2",
            (UTILISATION, QUEUE_P95, CALL_DELAY),
            (bulk("tcp", cc="reno", count=2), bulk("up", source="h2", to="h1", cc="reno"), call("call")),
        ),
        queue_case(
            "ecn",
            "Four senders of CUBIC that negotiate ECN: what is marked need not be dropped.",
            "RFC 7928, 4.5 and 13",
            (UTILISATION, QUEUE_P95, CALL_DELAY, LOST),
            (bulk("tcp", count=4), call("call")),
            more=_ECN,
        ),
        Case(
            "several-queues",
            "Two queues of this kind in a row.",
            "RFC 7928, 10",
            waits="a network of two bottlenecks in the suite",
        ),
    ),
)
