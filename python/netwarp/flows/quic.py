"""`quic`: QUIC that always has data to send, by quinn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from netwarp.flows.kind import TOOL, FlowKind, FlowPath
from netwarp.flows.quic_connection import QuicConnectionFlow
from netwarp.flows.resumption import ahead_ns, unused_ahead
from netwarp.flows.sized import SizedFlow
from netwarp.lab_format.objects import LabObject
from netwarp.lab_format.quantities import Text, Time, UInt32, UInt64, Yes, meaning
from netwarp.values.constants import QUIC_OVERHEAD_BYTES
from netwarp.values.fields import PositiveDuration, about

_Streams = Annotated[int, Field(strict=True, ge=1, le=1000)]


@dataclass(frozen=True, slots=True, kw_only=True)
class QuicFields(LabObject):
    """The fields of a QUIC flow in the lab."""

    cc: Text
    bytes: Annotated[UInt64 | None, meaning("null: as much as possible")]
    streams: _Streams
    datagram_size_bytes: Annotated[UInt32, meaning("of UDP's payload, of every full packet")]
    gso: Annotated[Yes, meaning("several datagrams in one call (UDP_SEGMENT)")]
    resume_ahead_ns: Annotated[
        Time | None,
        meaning("how long before its start a first connection fetches a session ticket; null: it does not resume"),
    ]


class QuicFlow(QuicConnectionFlow, SizedFlow):
    """QUIC that always has data to send, until `duration` is over or `bytes` are sent: the agent's own client on `from`
    and server on `to`, both of the library quinn ([quic.md](quic.md)). At its end the client sends nothing more."""

    tool: Literal["quic"] = about(TOOL, "quic")
    streams: int = about(
        "Number of streams, which take turns; `bytes` are divided among them.",
        4,
        refused=[0, 1001],
        default=1,
        ge=1,
        le=1000,
        strict=True,
    )
    zero_rtt: bool = about(
        "Whether the connection resumes an earlier one, and so sends data in its first flight (0-RTT): a first "
        "connection, `resume_ahead` before the flow's start, fetches a session ticket and is closed.",
        True,
        refused=["yes"],
        beside={"start": "1s"},
        default=False,
        strict=True,
    )
    resume_ahead: PositiveDuration | None = about(
        "How long before `start` the first connection of a flow with `zero_rtt` begins; default: 1 s.",
        "500ms",
        refused=["0s"],
        beside={"start": "1s", "zero_rtt": True},
        default=None,
    )

    def problems(self) -> Iterator[tuple[str, str]]:
        """Check that the first connection of a flow that resumes does not begin before the run."""
        yield from unused_ahead(self)
        if ahead := ahead_ns(self):
            yield from self.too_early("zero_rtt", ahead, "fetches its session ticket", "resume_ahead")

    def lab_fields(self, path: FlowPath) -> QuicFields:
        """The fields of a QUIC flow, with the size of its datagrams."""
        return QuicFields(
            cc=self.cc,
            bytes=self.size,
            streams=self.streams,
            datagram_size_bytes=self.full_bytes(path),
            gso=self.gso,
            resume_ahead_ns=ahead_ns(self),
        )

    def offered_bytes(self, path: FlowPath, active_ns: int) -> float | None:
        """The amount to send, with headers; None if the scenario does not limit it."""
        payload = self.full_bytes(path) - QUIC_OVERHEAD_BYTES
        return None if self.size is None else self.size * self.frame_bytes(path) / payload


KIND = FlowKind(
    "quic",
    QuicFlow,
    QuicFields,
    transport="udp",
    built_in=True,
    greedy=True,
    counts_for_fairness=True,
    connects=True,
    quic=True,
)
