"""Rows that netwarp cannot measure yet, and what they wait for."""

from __future__ import annotations

from netwarp.verify.row import Family, Row, within

_BY_PLAN = "loss by plan: a wire that drops the packets that a scenario names"


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
            waits=_BY_PLAN,
        ),
        Row(
            "reno-response",
            "Reno's mean window at a loss of p is 1.22 / √p.",
            "M. Mathis et al.: The Macroscopic Behavior of the TCP Congestion Avoidance Algorithm (1997)",
            "packets",
            {"1/100": 12.2, "1/1000": 38.7, "1/8192": 110.9},
            within(0, "every 1/p-th packet exactly"),
            waits=_BY_PLAN,
        ),
        Row(
            "cubic-response",
            "CUBIC's mean window at a loss of p and an RTT of 100 ms.",
            "RFC 9438, section 5.2, table 1 (C = 0.4)",
            "packets",
            {"1e-2": 12, "1e-3": 38, "1e-4": 187, "1e-5": 1054},
            within(0, "every 1/p-th packet exactly"),
            waits=_BY_PLAN,
        ),
    ),
)
