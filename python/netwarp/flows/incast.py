"""`incast`: many senders answer one request at once, again and again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from netwarp.fields import Spread, SpreadDuration, SpreadSize
from netwarp.flows.kind import CongestionControl, FlowBase, FlowKind, spread_fields


class IncastFlow(FlowBase):
    """A client at `from` asks `senders` at `to` in the same instant, waits until the last one has answered, pauses
    (`think`), and asks again. Sizes are those of each sender, which has a TCP connection that lasts."""

    tool: Literal["incast"]
    senders: int = Field(ge=1, le=1000)
    cc: CongestionControl = "cubic"
    request_size: SpreadSize = Spread(mean=100)
    response_size: SpreadSize
    think: SpreadDuration = Spread(mean=0)

    def lab_fields(self, mtu: int) -> dict[str, Any]:
        """How many senders, sizes and pauses with their distributions."""
        return {
            "cc": self.cc,
            "senders": self.senders,
            **spread_fields("request_size", "bytes", self.request_size),
            **spread_fields("response_size", "bytes", self.response_size),
            **spread_fields("think", "ns", self.think),
        }


class _IncastKind(FlowKind):
    """Each sender has a connection."""

    def connections_of(self, lab_fields: Mapping[str, Any]) -> int:
        """As many as there are senders."""
        return int(lab_fields["senders"])


KIND = _IncastKind(
    "incast",
    IncastFlow,
    transport="tcp",
    reverse=True,
    built_in=True,
    requests=True,
    connects=True,
    ports=(False, True),
)
