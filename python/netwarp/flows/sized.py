"""The common part of flows that send as much as possible, or a given size."""

from __future__ import annotations

from netwarp.flows.kind import FlowBase
from netwarp.flows.transfer_size import DrawnSize, mean_of
from netwarp.values.fields import about


class SizedFlow(FlowBase):
    """A flow that always has data to send, until `duration` is over or `bytes` are sent."""

    bytes: DrawnSize | None = about(
        "How much to send; without it the flow always has data to send. With a distribution each flow of the group "
        "draws its own.",
        "10MB",
        "30kB pareto 1.5",
        refused=[0, "30kB gaussian"],
        default=None,
    )

    @property
    def size(self) -> int | None:
        """How much to send, on average, in bytes; None: as much as possible."""
        return None if self.bytes is None else mean_of(self.bytes)
