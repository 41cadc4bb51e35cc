"""`quic_datagrams`: unreliable datagrams over QUIC (RFC 9221), by quinn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

from netwarp.flows.kind import TOOL, Datagram, FlowKind, FlowPath
from netwarp.flows.quic_connection import QuicConnectionFlow
from netwarp.lab_format.objects import LabObject
from netwarp.lab_format.quantities import Rate as LabRate
from netwarp.lab_format.quantities import Text, UInt32, Yes, meaning
from netwarp.values.constants import (
    MIN_PAYLOAD_BYTES,
    NS_PER_S,
    QUIC_DATAGRAM_OVERHEAD_BYTES,
    QUIC_DATAGRAM_RESERVE_BYTES,
    QUIC_SHORT_DATAGRAM_BYTES,
    UDP_HEADER_BYTES,
)
from netwarp.values.fields import PositiveSize, Rate, about

_BACKLOG_BYTES = 1 << 20
_MOST_BACKLOG_BYTES = 2**32 - 1
_MOST_DATAGRAMS = 50_000_000
"""The most datagrams of a flow with a rate: their numbers are kept in memory, also of those that the backlog drops."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuicDatagramsFields(LabObject):
    """The fields of a flow of QUIC datagrams in the lab."""

    cc: Text
    rate_bps: Annotated[LabRate | None, meaning("of the data; null: as much as possible")]
    message_size_bytes: Annotated[UInt32, meaning("of data in a datagram")]
    backlog_bytes: Annotated[UInt32, meaning("data that waits at the sender at most; not without `rate_bps`")]
    datagram_size_bytes: Annotated[UInt32, meaning("of UDP's payload, of every full packet")]
    gso: Annotated[Yes, meaning("several datagrams in one call (UDP_SEGMENT)")]


class QuicDatagramsFlow(QuicConnectionFlow):
    """Data in QUIC's unreliable datagrams (RFC 9221), as real-time media has it: what is lost is not sent again, but
    the connection's congestion control and pacing apply. Client and server are those of a `quic` flow
    ([quic.md](quic.md#datagrams))."""

    tool: Literal["quic_datagrams"] = about(TOOL, "quic_datagrams")
    rate: Rate | None = about(
        "The rate of the data, without any header, in datagrams at even intervals. Without it there is always another "
        "datagram, and the congestion control decides the rate.",
        "1mbit",
        refused=["0bit"],
        default=None,
    )
    message_size: int | None = about(
        "Data in a datagram in bytes, which must fit into one packet with 38 bytes of QUIC; default: as much as fits.",
        300,
        refused=[MIN_PAYLOAD_BYTES - 1, 65528],
        default=None,
        ge=MIN_PAYLOAD_BYTES,
        le=65527,
        strict=True,
    )
    backlog: PositiveSize | None = about(
        "How much data may wait at the sender of a flow with `rate` for the congestion window; beyond it the oldest "
        "datagrams are dropped, and count as lost. Default: 1 MiB, as in quinn.",
        "20kB",
        refused=[0, "5GB"],
        beside={"rate": "1mbit"},
        default=None,
        le=_MOST_BACKLOG_BYTES,
    )

    def problems(self) -> Iterator[tuple[str, str]]:
        """Check that a message fits into a packet, and that the backlog is that of a rate."""
        if (
            self.message_size
            and self.datagram_size
            and self.message_size > self.datagram_size - QUIC_DATAGRAM_RESERVE_BYTES
        ):
            most = self.datagram_size - QUIC_DATAGRAM_RESERVE_BYTES
            yield (
                "message_size",
                f"a packet of {self.datagram_size} bytes (`datagram_size`) has room for {most} bytes of data",
            )
        if self.backlog is not None and self.rate is None:
            yield (
                "backlog",
                "only a flow with `rate` has a backlog; without it the next datagram is made when it can leave",
            )

    def path_problems(self, path: FlowPath, active_ns: int) -> Iterator[tuple[str, str]]:
        """Check that the backlog has room for a datagram, and that these are not too many to be numbered."""
        if self.rate is None:
            return
        size = self._message_bytes(path)
        if self.backlog is not None and self.backlog < size:
            yield (
                "backlog",
                f"has no room for one datagram of {size} bytes; give at least that, or a smaller `message_size`",
            )
        made = self.rate * active_ns // (8 * NS_PER_S * size)
        if made > _MOST_DATAGRAMS:
            yield (
                "rate",
                f"these are {made:,} datagrams of {size} bytes, and a flow has at most {_MOST_DATAGRAMS:,}; lower the "
                "rate, raise `message_size`, or shorten the flow (`duration`)",
            )

    @property
    def datagram(self) -> Datagram | None:
        """A packet of a given size, or that of a message, which must not be fragmented (RFC 9000, section 14)."""
        if self.message_size is None or self.datagram_size is not None:
            return super().datagram
        packet = self.message_size + QUIC_DATAGRAM_RESERVE_BYTES
        return Datagram("message_size", self.message_size, packet + UDP_HEADER_BYTES, False)

    def lab_fields(self, path: FlowPath) -> QuicDatagramsFields:
        """The fields of the flow, with the size of its datagrams."""
        full = self.full_bytes(path)
        most = full - QUIC_DATAGRAM_RESERVE_BYTES
        return QuicDatagramsFields(
            cc=self.cc,
            rate_bps=self.rate,
            message_size_bytes=max(min(self.message_size or most, most), MIN_PAYLOAD_BYTES),
            backlog_bytes=self.backlog or _BACKLOG_BYTES,
            datagram_size_bytes=full,
            gso=self.gso,
        )

    def offered_bytes(self, path: FlowPath, active_ns: int) -> float | None:
        """Its rate for this time, with the headers of packets that each have one datagram."""
        if self.rate is None:
            return None
        return self.rate * active_ns / (8 * NS_PER_S) * self.frame_bytes(path) / self._message_bytes(path)

    def frame_bytes(self, path: FlowPath) -> float:
        """A packet of one datagram, with its headers."""
        size = self._message_bytes(path)
        packet = size + QUIC_DATAGRAM_OVERHEAD_BYTES + (1 if size < QUIC_SHORT_DATAGRAM_BYTES else 2)
        return super().frame_bytes(path) - self.full_bytes(path) + packet

    def _message_bytes(self, path: FlowPath) -> int:
        return self.lab_fields(path).message_size_bytes


KIND = FlowKind(
    "quic_datagrams",
    QuicDatagramsFlow,
    QuicDatagramsFields,
    transport="udp",
    built_in=True,
    connects=True,
    datagrams=True,
    quic=True,
)
