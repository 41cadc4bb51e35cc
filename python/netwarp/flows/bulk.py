"""`bulk`: TCP that always has data to send."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

from netwarp.flows.kind import CC, TOOL, CongestionControl, FlowKind, FlowPath
from netwarp.flows.sized import SizedFlow
from netwarp.flows.tcp import TcpFlow
from netwarp.lab_format.objects import LabObject
from netwarp.lab_format.quantities import Text, Time, UInt64, meaning
from netwarp.values.constants import ETHERNET_HEADER_BYTES, TCP_HEADER_BYTES
from netwarp.values.fields import Duration, about


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkFields(LabObject):
    """The fields of a bulk flow in the lab."""

    cc: Text
    bytes: Annotated[UInt64 | None, meaning("null: as much as possible")]
    connect_ahead_ns: Annotated[Time, meaning("how long before its start its connection is opened")]


class BulkFlow(SizedFlow, TcpFlow):
    """TCP that always has data to send, until `duration` is over or `bytes` are sent.

    With `connect_ahead` each connection is opened that long before `start`, and all flows of the group start to send at
    the same instant, as the streams of iperf3 -P do. Without it each flow has its own start phase and connects when it
    starts; if its SYN is lost, it connects a second later, through a queue that the others have filled.
    """

    tool: Literal["bulk"] = about(TOOL, "bulk")
    cc: CongestionControl = about(CC, "bbr", refused=["BBR"], default="cubic")
    connect_ahead: Duration = about(
        "How long before `start` the connection is opened.",
        "1s",
        refused=["3s"],
        beside={"start": "2s"},
        default=0,
    )

    @property
    def starts_together(self) -> bool:
        """Whether the flows are connected ahead, as the streams of one test."""
        return self.connect_ahead > 0

    def problems(self) -> Iterator[tuple[str, str]]:
        """Check that it does not connect before the run begins."""
        yield from self.too_early("connect_ahead", self.connect_ahead, "connects", "connect_ahead")

    def lab_fields(self, path: FlowPath) -> BulkFields:
        """The fields of a bulk flow."""
        return BulkFields(cc=self.cc, bytes=self.size, connect_ahead_ns=self.connect_ahead)

    def offered_bytes(self, path: FlowPath, active_ns: int) -> float | None:
        """The amount to send, with headers; None if the scenario does not limit it."""
        headers = ETHERNET_HEADER_BYTES + self.ip_header_bytes + TCP_HEADER_BYTES
        frame = self.frame_bytes(path)
        return None if self.size is None else self.size * frame / (frame - headers)


KIND = FlowKind(
    "bulk",
    BulkFlow,
    BulkFields,
    transport="tcp",
    built_in=True,
    greedy=True,
    counts_for_fairness=True,
    connects=True,
    moved_by_kernel=True,
)
