"""The common part of flows over a QUIC connection by quinn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from netwarp.flows.kind import Datagram, FlowBase, FlowPath
from netwarp.flows.options import option_fields
from netwarp.values.constants import ETHERNET_HEADER_BYTES, UDP_HEADER_BYTES
from netwarp.values.fields import about

QuicControl = Literal["cubic", "newreno", "bbr"]
_TYPES, _FIELDS = option_fields("udp")


class QuicConnectionFlow(FlowBase):
    """A flow over a QUIC connection: the agent is its client on `from` and its server on `to`."""

    cc: QuicControl = about(
        "The congestion control of both ends: one of quinn's, which are not the kernel's.",
        "bbr",
        refused=["reno"],
        default="cubic",
    )
    datagram_size: int | None = about(
        "UDP payload of a full packet in bytes, which must fit into one packet on the path; default: as much as fits. "
        "It is fixed: there is no discovery of the path's MTU.",
        1200,
        refused=[1199, 65528],
        default=None,
        ge=1200,
        le=65527,
        strict=True,
    )
    gso: bool = about(
        "Whether the sender hands up to 10 datagrams to the kernel at once (UDP_SEGMENT), which pass queues as one "
        "aggregate.",
        True,
        refused=["on"],
        default=False,
        strict=True,
    )
    if not TYPE_CHECKING:
        # The fields of the options, as their records define them.
        __annotations__ |= _TYPES
        vars().update(_FIELDS)

    @property
    def has_own_control(self) -> bool:
        """quinn's."""
        return True

    @property
    def datagram(self) -> Datagram | None:
        """A full packet of a given size, which must not be fragmented (RFC 9000, section 14)."""
        size = self.datagram_size
        return None if size is None else Datagram("datagram_size", size, size + UDP_HEADER_BYTES, False)

    def full_bytes(self, path: FlowPath) -> int:
        """The UDP payload of a full packet."""
        room = path.mtu - self.ip_header_bytes - UDP_HEADER_BYTES
        return min(self.datagram_size or room, room)

    def frame_bytes(self, path: FlowPath) -> float:
        """A full packet with its headers."""
        return self.full_bytes(path) + UDP_HEADER_BYTES + self.ip_header_bytes + ETHERNET_HEADER_BYTES
