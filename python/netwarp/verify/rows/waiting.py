"""Rows that netwarp cannot measure yet, and what they wait for."""

from __future__ import annotations

from netwarp.verify.row import Family, Range, Row, within

FAMILY = Family(
    "Waiting",
    (
        Row(
            "prr-one-loss",
            "With a window of 20, ssthresh 10 and one loss, PRR sends a segment for about every second ACK.",
            "RFC 6937, section 3.1",
            "packets in flight at the ACK",
            {"1": 19, "5": 18, "10": 15, "15": 13, "19": 10},
            within(0, "the RFC's own table"),
            waits="packets in flight between an ACK and what it lets go; the records have them after a retransmission",
        ),
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
