"""The network of RFC 8867, 50 ms one way, and the measures of media streams with Google Congestion Control."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from netwarp.suite.case import Case, Measure
from netwarp.suite.networks import FAIRNESS, QUEUE, case
from netwarp.verify.rows.networks import flow

VIDEO = "video"

RATE = Measure("media rate", "flow", VIDEO, "media_rate_mbps_mean")
DELAY = Measure("one-way delay, p95", "flow", VIDEO, "delay_ms_p95")
GONE = Measure(
    "packets lost or late", "flow", VIDEO, "media_loss_pct", margin=1.0, why="video conceals losses of 1 of 100"
)
SHARES = replace(FAIRNESS, words="Jain's index of media", metric="jain_media_index")


def video(name: str = VIDEO, **fields: str | int) -> str:
    """A stream of 30 frames a second from 150 kbit/s to 1.5 Mbit/s (RFC 8867, 4.3)."""
    usual: dict[str, Any] = {
        "control": "gcc",
        "interval": "33333us",
        "min_rate": "150kbit",
        "max_rate": "1500kbit",
        "rate": "300kbit",
    }
    return flow(name, "media", **(usual | fields))


def media_case(
    name: str, asks: str, section: str, measures: Sequence[Measure], flows: Sequence[str], **network: Any
) -> Case:
    """A case whose subject is the bottleneck's queue; `network` replaces parts of 1 Mbit/s and 100 s."""
    usual: dict[str, Any] = {"sets": (QUEUE,), "rate": "1mbit", "delay": "50ms", "duration": "100s", "warmup": "0s"}
    usual |= {"queue": "bfifo limit 300ms"}
    return case(name, asks, f"RFC 8867, {section}", measures, flows, **(usual | network))
