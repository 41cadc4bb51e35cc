"""`incast`: many senders that answer a request at once, repeatedly."""

from __future__ import annotations

from typing import Literal

from netwarp.flows.kind import CC, TOOL, CongestionControl, FlowBase, FlowKind, spread_fields
from netwarp.lab_format.own_fields import OwnFields
from netwarp.values.fields import Distribution, DurationDistribution, SizeDistribution, about


class IncastFlow(FlowBase):
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

    def lab_fields(self, mtu: int) -> OwnFields:
        """The number of senders, and sizes and pauses with their distributions."""
        return {
            "cc": self.cc,
            "senders": self.senders,
            **spread_fields("request_size", "bytes", self.request_size),
            **spread_fields("response_size", "bytes", self.response_size),
            **spread_fields("think", "ns", self.think),
        }


class _IncastKind(FlowKind):
    """A kind with a connection for each sender."""

    def connections_of(self, lab_fields: OwnFields) -> int:
        """The number of senders."""
        senders = lab_fields["senders"]
        assert isinstance(senders, int)
        return senders


KIND = _IncastKind(
    "incast",
    IncastFlow,
    transport="tcp",
    reverse=True,
    built_in=True,
    requests=True,
    connects=True,
    varies=("think", "active"),
    ports=(False, True),
)
