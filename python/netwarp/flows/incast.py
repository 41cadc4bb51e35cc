"""`incast`: many senders that answer a request at once, repeatedly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from netwarp.flows.kind import CC, TOOL, CongestionControl, FlowKind, FlowPath
from netwarp.flows.tcp import TcpFlow
from netwarp.lab_format.objects import LabObject
from netwarp.lab_format.own_fields import OwnFields
from netwarp.lab_format.quantities import Text, Time, UInt64
from netwarp.values.fields import Distribution, DurationDistribution, Shape, SizeDistribution, about

_Senders = Annotated[int, Field(strict=True, ge=1, le=1000)]


@dataclass(frozen=True, slots=True, kw_only=True)
class IncastFields(LabObject):
    """The fields of an incast in the lab; sizes are those of each sender."""

    cc: Text
    senders: _Senders
    request_size_bytes: UInt64
    request_size_distribution: Shape
    response_size_bytes: UInt64
    response_size_distribution: Shape
    think_ns: Time
    think_distribution: Shape


class IncastFlow(TcpFlow):
    """A client on `from` that sends a request to each of `senders` on `to` at the same instant, waits until the last
    one has responded, pauses (`think`), and repeats. Sizes apply to each sender, which has a persistent TCP
    connection."""

    tool: Literal["incast"] = about(TOOL, "incast")
    senders: int = about("Number of senders on `to`.", 20, refused=[0, 1001], ge=1, le=1000, strict=True)
    cc: CongestionControl = about(CC, "bbr", refused=["BBR"], default="cubic")
    request_size: SizeDistribution = about("Bytes of each request.", 200, refused=[0], default=Distribution(mean=100))
    response_size: SizeDistribution = about("Bytes of each response.", "20kB", refused=["20k"])
    think: DurationDistribution = about(
        "The pause between the last response and the next requests.",
        "100ms exponential",
        refused=["-1ms"],
        default=Distribution(mean=0),
    )

    def lab_fields(self, path: FlowPath) -> IncastFields:
        """The number of senders, and sizes and pauses with their distributions."""
        return IncastFields(
            cc=self.cc,
            senders=self.senders,
            request_size_bytes=self.request_size.mean,
            request_size_distribution=self.request_size.distribution,
            response_size_bytes=self.response_size.mean,
            response_size_distribution=self.response_size.distribution,
            think_ns=self.think.mean,
            think_distribution=self.think.distribution,
        )

    def offered_bytes(self, path: FlowPath, active_ns: int) -> float | None:
        """The responses after each pause, if there are pauses."""
        return (
            self.senders * max(self.response_size.mean, path.mtu) * active_ns / self.think.mean
            if self.think.mean
            else None
        )


class _IncastKind(FlowKind):
    """A kind whose flows have a connection for each sender."""

    def connections_of(self, lab_fields: OwnFields) -> int:
        """The number of senders."""
        senders = lab_fields["senders"]
        assert isinstance(senders, int)
        return senders


KIND = _IncastKind(
    "incast",
    IncastFlow,
    IncastFields,
    transport="tcp",
    reverse=True,
    built_in=True,
    requests=True,
    connects=True,
    varies=("think", "active"),
    ports=(False, True),
)
