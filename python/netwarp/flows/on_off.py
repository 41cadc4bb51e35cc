"""`on_off`: UDP in bursts."""

from __future__ import annotations

from typing import Literal

from netwarp.flows.kind import TOOL, spread_fields
from netwarp.flows.udp import UdpFlow, UdpKind
from netwarp.lab_format.own_fields import OwnFields
from netwarp.values.fields import DurationDistribution, about


class OnOffFlow(UdpFlow):
    """UDP at `rate` for a while (`on`), then silence (`off`), repeatedly."""

    tool: Literal["on_off"] = about(TOOL, "on_off")
    on: DurationDistribution = about(
        "How long the flow sends each time.", "200ms exponential", refused=["200ms normal"]
    )
    off: DurationDistribution = about("How long the flow is silent each time.", "1s", refused=[1])

    def lab_fields(self, mtu: int) -> OwnFields:
        """The fields of UDP sources, and the lengths of its phases."""
        return {**super().lab_fields(mtu), **spread_fields("on", "ns", self.on), **spread_fields("off", "ns", self.off)}


KIND = UdpKind("on_off", OnOffFlow)
