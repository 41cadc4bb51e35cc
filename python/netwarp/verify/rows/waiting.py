"""Rows that netwarp cannot measure yet, and what they wait for."""

from __future__ import annotations

from netwarp.verify.row import Family, Range, Row

FAMILY = Family(
    "Waiting",
    (
        Row(
            "mptcp-two-paths",
            "Two subflows carry the data of the kernel's selftest within its bounds, on equal and unequal paths.",
            "tools/testing/selftests/net/mptcp/simult_flows.sh",
            "ms",
            {"balanced": 7561, "unbalanced": 4005},
            Range(200, 0, "bounds: the least time is that of both paths when they are never idle"),
            waits="flows of MPTCP",
        ),
    ),
)
