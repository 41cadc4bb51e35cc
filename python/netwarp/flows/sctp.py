"""`sctp`: an SCTP association that always has a message to send (RFC 9260)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from netwarp.flows.kind import TOOL, FlowKind, FlowPath
from netwarp.flows.options import option_fields
from netwarp.flows.options.sockets import RECEIVE_BUFFER_SIZE, SEND_BUFFER_SIZE
from netwarp.flows.sized import SizedFlow
from netwarp.lab_format.objects import LabObject
from netwarp.lab_format.quantities import UInt64, meaning
from netwarp.values.constants import ETHERNET_HEADER_BYTES, SCTP_HEADER_BYTES
from netwarp.values.fields import PositiveSize, about

_Streams = Annotated[int, Field(strict=True, ge=1, lt=2**16)]
_BUFFER_BYTES = 4 * 1024 * 1024
"""Default size of buffers: Linux lets TCP's grow to about as much (`net.ipv4.tcp_rmem`), but SCTP's never."""
_TYPES, _FIELDS = option_fields("sctp")
for _option in (SEND_BUFFER_SIZE, RECEIVE_BUFFER_SIZE):
    _TYPES[_option.name], _FIELDS[_option.name] = replace(
        _option,
        default=_BUFFER_BYTES,
        meaning=f"{_option.meaning} Unlike TCP's it never grows by itself; half of the receive buffer is the window.",
    ).field()


@dataclass(frozen=True, slots=True, kw_only=True)
class SctpFields(LabObject):
    """The fields of an SCTP association in the lab."""

    bytes: Annotated[UInt64 | None, meaning("null: as much as possible")]
    message_size_bytes: Annotated[UInt64, meaning("the last one of a flow of a given size may be shorter")]
    streams: _Streams
    ordered: Annotated[bool, meaning("whether messages are delivered in the order of their stream")]


class SctpFlow(SizedFlow):
    """SCTP that always has a message to send, until `duration` is over or `bytes` are sent.

    Its congestion control is the kernel's only one for SCTP (RFC 9260, section 7).
    """

    tool: Literal["sctp"] = about(TOOL, "sctp")
    message_size: PositiveSize = about(
        "Payload of a message in bytes, at most 65,536. A message that is larger than a packet's payload takes several "
        "chunks, and is readable once it is complete.",
        "1452B",
        refused=[0, 65_537],
        default=65_536,
        le=65_536,
    )
    streams: int = about(
        "Number of streams, which take the messages in turn: a lost packet delays the messages behind it in its own "
        "stream only.",
        8,
        refused=[0, 65],
        default=1,
        ge=1,
        le=64,
        strict=True,
    )
    ordered: bool = about(
        "Whether messages are delivered in the order of their stream; otherwise each as soon as it is complete.",
        False,
        refused=["no"],
        default=True,
        strict=True,
    )
    if not TYPE_CHECKING:
        # The fields of the options, as their records define them.
        __annotations__ |= _TYPES
        vars().update(_FIELDS)

    def lab_fields(self, path: FlowPath) -> SctpFields:
        """The fields of an association."""
        return SctpFields(
            bytes=self.size,
            message_size_bytes=self.message_size,
            streams=self.streams,
            ordered=self.ordered,
        )

    def offered_bytes(self, path: FlowPath, active_ns: int) -> float | None:
        """The amount to send, with headers; None if the scenario does not limit it."""
        headers = ETHERNET_HEADER_BYTES + self.ip_header_bytes + SCTP_HEADER_BYTES
        frame = self.frame_bytes(path)
        return None if self.size is None else self.size * frame / (frame - headers)


KIND = FlowKind(
    "sctp",
    SctpFlow,
    SctpFields,
    transport="sctp",
    built_in=True,
    greedy=True,
    connects=True,
)
