"""`request`: requests and responses over one TCP connection."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from netwarp.flows.kind import CC, TOOL, CongestionControl, FlowKind, FlowPath
from netwarp.flows.tcp import TcpFlow
from netwarp.lab_format.objects import LabObject
from netwarp.lab_format.quantities import Text, Time, UInt64, meaning
from netwarp.values.fields import Distribution, Duration, DurationDistribution, Shape, SizeDistribution, about


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestFields(LabObject):
    """The fields of a client and its server in the lab."""

    cc: Text
    request_size_bytes: UInt64
    request_size_distribution: Shape
    response_size_bytes: UInt64
    response_size_distribution: Shape
    think_ns: Time
    think_distribution: Shape
    service_ns: Annotated[Time, meaning("between a request and its response")]


class RequestFlow(TcpFlow):
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

    def lab_fields(self, path: FlowPath) -> RequestFields:
        """Sizes and pauses with their distributions."""
        return RequestFields(
            cc=self.cc,
            request_size_bytes=self.request_size.mean,
            request_size_distribution=self.request_size.distribution,
            response_size_bytes=self.response_size.mean,
            response_size_distribution=self.response_size.distribution,
            think_ns=self.think.mean,
            think_distribution=self.think.distribution,
            service_ns=self.service,
        )

    def offered_bytes(self, path: FlowPath, active_ns: int) -> float | None:
        """A response after each pause, if there are pauses."""
        return max(self.response_size.mean, path.mtu) * active_ns / self.think.mean if self.think.mean else None


KIND = FlowKind(
    "request",
    RequestFlow,
    RequestFields,
    transport="tcp",
    reverse=True,
    built_in=True,
    probe=True,
    requests=True,
    connects=True,
    varies=("think", "active"),
)
