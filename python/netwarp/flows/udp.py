"""The common part of UDP sources."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated

from netwarp.flows.kind import Datagram, FlowBase, FlowKind, FlowPath
from netwarp.flows.options import option_fields
from netwarp.lab_format.objects import LabObject
from netwarp.lab_format.quantities import Rate, UInt32, meaning
from netwarp.values import fields
from netwarp.values.constants import ETHERNET_HEADER_BYTES, NS_PER_S, UDP_HEADER_BYTES
from netwarp.values.fields import Distribution, Shape, SizeDistribution, about

_TYPES, _FIELDS = option_fields("udp")


@dataclass(frozen=True, slots=True, kw_only=True)
class UdpFields(LabObject):
    """The fields in the lab of every UDP source."""

    rate_bps: Annotated[Rate, meaning("of whole frames")]
    packet_size_bytes: Annotated[UInt32, meaning("of payload")]
    packet_size_distribution: Shape
    packet_size_most_bytes: Annotated[UInt32, meaning("bound of a drawn size")]


class UdpFlow(FlowBase):
    """A source that does not wait for answers; `rate` counts frames with all headers, `packet_size` payload."""

    rate: fields.Rate = about(
        "The rate of frames with all their headers, while the flow sends.", "2mbit", refused=["0bit"]
    )
    packet_size: SizeDistribution = about(
        "Payload of a packet in bytes. Sizes drawn from a distribution are limited to what fits into one packet on the "
        "path. The default fills a packet over IPv4; over IPv6 one of at most 1452 bytes is not fragmented.",
        "600 exponential",
        refused=[0, "600 gaussian"],
        default=Distribution(mean=1472),
    )
    if not TYPE_CHECKING:
        # The fields of the options, as their records define them.
        __annotations__ |= _TYPES
        vars().update(_FIELDS)

    @property
    def datagram(self) -> Datagram:
        """A packet of the mean size: no drawn one is larger than it or than what fits."""
        return Datagram("packet_size", self.packet_size.mean, self.packet_size.mean + UDP_HEADER_BYTES)

    def lab_fields(self, path: FlowPath) -> UdpFields:
        """The fields of a UDP source. A drawn size is limited to one packet; a fixed size may be fragmented."""
        most = max(path.mtu - self.ip_header_bytes - UDP_HEADER_BYTES, self.packet_size.mean)
        return UdpFields(
            rate_bps=self.rate,
            packet_size_bytes=self.packet_size.mean,
            packet_size_distribution=self.packet_size.distribution,
            packet_size_most_bytes=most,
        )

    def offered_bytes(self, path: FlowPath, active_ns: int) -> float | None:
        """Its rate for this time."""
        return self.rate * active_ns / (8 * NS_PER_S)

    def frame_bytes(self, path: FlowPath) -> float:
        """The mean payload with its headers."""
        return self.packet_size.mean + UDP_HEADER_BYTES + self.ip_header_bytes + ETHERNET_HEADER_BYTES


UdpKind = partial(FlowKind, lab=UdpFields, transport="udp", built_in=True, datagrams=True, varies=("rate", "active"))
