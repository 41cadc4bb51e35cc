"""`request`: requests and responses over one TCP connection."""

from __future__ import annotations

from typing import Literal

from netwarp.flows.kind import CC, TOOL, CongestionControl, FlowBase, FlowKind, spread_fields
from netwarp.lab_format.own_fields import OwnFields
from netwarp.values.fields import Distribution, Duration, DurationDistribution, SizeDistribution, about


class RequestFlow(FlowBase):
    """TCP requests answered by responses, with a pause (`think`) between a response and the next request."""

    tool: Literal["request"] = about(TOOL, "request")
    cc: CongestionControl = about(CC, "bbr", refused=["BBR"], default="cubic")
    request_size: SizeDistribution = about("Bytes of a request.", 200, refused=[0], default=Distribution(mean=100))
    response_size: SizeDistribution = about("Bytes of a response.", "30kB pareto", refused=["30k"])
    think: DurationDistribution = about(
        "The pause between a response and the next request.",
        "500ms exponential",
        refused=["-1ms"],
        default=Distribution(mean=0),
    )
    service: Duration = about(
        "How long the server takes between a request and its response.", "2ms", refused=["-2ms"], default=0
    )

    def lab_fields(self, mtu: int) -> OwnFields:
        """Sizes and pauses with their distributions."""
        return {
            "cc": self.cc,
            **spread_fields("request_size", "bytes", self.request_size),
            **spread_fields("response_size", "bytes", self.response_size),
            **spread_fields("think", "ns", self.think),
            "service_ns": self.service,
        }


KIND = FlowKind(
    "request",
    RequestFlow,
    transport="tcp",
    reverse=True,
    built_in=True,
    probe=True,
    requests=True,
    connects=True,
    varies=("think", "active"),
)
