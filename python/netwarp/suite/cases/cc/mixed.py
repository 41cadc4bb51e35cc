"""Short flows, calls and media beside a control: RFC 9743, sections 5.2.2 and 5.2.3, and RFC 8867."""

from __future__ import annotations

from netwarp.suite.case import Case, Group
from netwarp.suite.networks import CALL_DELAY, CALL_LOST, bulk, call, case, harm, requests

MIXED = Group(
    "mixed",
    "Short flows and calls beside it",
    (
        case(
            "short-beside",
            "Requests of 50 kB by CUBIC, while the subject sends without end.",
            "RFC 9743, 5.1.5 and 5.2.3",
            harm("web", "completion_p95", to="the requests'"),
            (requests("web", "50kB", "500ms exponential", cc="cubic"), bulk("subject")),
            lone="flows.subject.count",
            quick=True,
            queue="pfifo limit 2BDP",
        ),
        case(
            "call",
            "A call of 50 packets a second, which cannot send less, while the subject sends without end.",
            "RFC 9743, 5.2.2",
            (CALL_DELAY, CALL_LOST),
            (call("call"), bulk("subject")),
            queue="pfifo limit 2BDP",
        ),
        Case(
            "media",
            "The test cases of real-time media: variable capacity, several media flows, flows of TCP beside them.",
            "RFC 8867, 5.1 to 5.8",
            waits="a source of media that adapts its rate (RFC 8298, RFC 8698); calls here do not adapt",
        ),
    ),
)
