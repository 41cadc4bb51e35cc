"""Scenario texts for runs on the real engine: h1 – r1 – h2 with the bottleneck at r1. The benchmarks use them, too."""

from __future__ import annotations

FRAME_BYTES = 1514
SEGMENT_BYTES = 1448
BOTTLENECK = 13
"""Index of r1's interface into the bottleneck: the second link's first end."""

BULK = """
[flows.bulk]
from = "h1"
to = "h2"
tool = "bulk"
"""
PING = """
[flows.ping]
from = "h1"
to = "h2"
tool = "ping"
"""


def dumbbell(
    *,
    rate: str = "10mbit",
    delay: str = "10ms",
    queue: str = "pfifo limit 100",
    duration: str = "10s",
    access: str = "1gbit",
    exact: bool = True,
    seeds: str = "1",
    flows: str = BULK,
    tail: str = "",
    name: str = "e2e",
) -> str:
    """The scenario h1 – r1 – h2 with these values; `flows` and `tail` are appended unchanged."""
    return f"""
name = "{name}"
duration = "{duration}"
seeds = {seeds}
[record]
exact = {str(exact).lower()}
[nodes]
h1 = {{}}
r1 = {{ forward = true }}
h2 = {{}}
[links.access]
ends = ["h1", "r1"]
rate = "{access}"
[links.bottleneck]
ends = ["r1", "h2"]
rate = "{rate}"
delay = "{delay}"
queue = "{queue}"
{flows}
{tail}
"""


FAIR = "fq limit 100000 flow_limit 10000 quantum 1514 initial_quantum 1514 orphan_mask 65535"
"""A queue for each connection, of any length, from which one packet after the other leaves."""


def packet_ns(rate_bps: int, frame_bytes: int = FRAME_BYTES) -> float:
    """The transmission time of a frame at a rate."""
    return frame_bytes * 8e9 / rate_bps
