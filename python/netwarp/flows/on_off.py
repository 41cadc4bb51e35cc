"""`on_off`: UDP in bursts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from netwarp.flows.kind import TOOL, FlowPath
from netwarp.flows.udp import UdpFields, UdpFlow, UdpKind
from netwarp.lab_format.quantities import Time
from netwarp.values.constants import NS_PER_S
from netwarp.values.fields import DurationDistribution, Shape, about


@dataclass(frozen=True, slots=True, kw_only=True)
class OnOffFields(UdpFields):
    """The fields of UDP sources in the lab, and the lengths of its phases."""

    on_ns: Time
    on_distribution: Shape
    off_ns: Time
    off_distribution: Shape


class OnOffFlow(UdpFlow):
    """UDP at `rate` for a while (`on`), then silence (`off`), repeatedly."""

    tool: Literal["on_off"] = about(TOOL, "on_off")
    on: DurationDistribution = about(
        "How long the flow sends each time.", "200ms exponential", refused=["200ms normal"]
    )
    off: DurationDistribution = about("How long the flow is silent each time.", "1s", refused=[1])

    def lab_fields(self, path: FlowPath) -> OnOffFields:
        """The fields of UDP sources, and the lengths of its phases."""
        udp = super().lab_fields(path)
        return OnOffFields(
            rate_bps=udp.rate_bps,
            packet_size_bytes=udp.packet_size_bytes,
            packet_size_distribution=udp.packet_size_distribution,
            packet_size_most_bytes=udp.packet_size_most_bytes,
            on_ns=self.on.mean,
            on_distribution=self.on.distribution,
            off_ns=self.off.mean,
            off_distribution=self.off.distribution,
        )

    def offered_bytes(self, path: FlowPath, active_ns: int) -> float | None:
        """Its rate for the part of this time in which it sends, on average."""
        return self.rate * active_ns / (8 * NS_PER_S) * self.on.mean / max(self.on.mean + self.off.mean, 1)


KIND = UdpKind("on_off", OnOffFlow, lab=OnOffFields)
