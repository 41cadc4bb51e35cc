"""`ping`: ICMP echo requests."""

from __future__ import annotations

from typing import Literal

from netwarp.flows.kind import TOOL, FlowBase, FlowKind
from netwarp.lab_format.own_fields import OwnFields
from netwarp.values.fields import PositiveDuration, about

MAX_PAYLOAD_BYTES = 65507


class PingFlow(FlowBase):
    """Echo requests every `interval` with `size` bytes of payload."""

    tool: Literal["ping"] = about(TOOL, "ping")
    interval: PositiveDuration = about("The time between two requests.", "10ms", refused=["0s"], default=100_000_000)
    size: int = about(
        "Payload of a request in bytes.",
        1000,
        refused=[15, "1kB"],
        default=56,
        ge=16,
        le=MAX_PAYLOAD_BYTES,
        strict=True,
    )

    def lab_fields(self, mtu: int) -> OwnFields:
        """Interval and payload."""
        return {"interval_ns": self.interval, "size": self.size}


KIND = FlowKind("ping", PingFlow, transport="icmp", built_in=True, probe=True, ports=(True, False))
