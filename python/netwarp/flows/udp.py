"""The common part of UDP sources."""

from __future__ import annotations

from functools import partial

from netwarp.flows.kind import FlowBase, FlowKind, spread_fields
from netwarp.lab_format.own_fields import OwnFields
from netwarp.values.fields import Distribution, Rate, SizeDistribution, about

IP_HEADER_BYTES = {"ipv4": 20, "ipv6": 40}
UDP_HEADER_BYTES = 8


class UdpFlow(FlowBase):
    """A source that does not wait for answers; `rate` counts frames with all headers, `packet_size` payload."""

    rate: Rate = about("The rate of frames with all their headers, while the flow sends.", "2mbit", refused=["0bit"])
    packet_size: SizeDistribution = about(
        "Payload of a packet in bytes. Sizes drawn from a distribution are limited to what fits into one packet on the "
        "path.",
        "600 exponential",
        refused=[0, "600 gaussian"],
        default=Distribution(mean=1472),
    )

    def lab_fields(self, mtu: int) -> OwnFields:
        """The fields of a UDP source. A drawn size is limited to one packet; a fixed size may be fragmented."""
        most = max(mtu - IP_HEADER_BYTES[self.family] - UDP_HEADER_BYTES, self.packet_size.mean)
        return {
            "rate_bps": self.rate,
            **spread_fields("packet_size", "bytes", self.packet_size),
            "packet_size_most_bytes": most,
        }


UdpKind = partial(FlowKind, transport="udp", built_in=True, datagrams=True, varies=("rate", "active"))
