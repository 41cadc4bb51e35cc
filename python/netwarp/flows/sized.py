"""The common part of flows that send as much as possible, or a given size."""

from __future__ import annotations

from collections.abc import Iterator

from netwarp.flows.kind import FlowBase
from netwarp.flows.transfer_size import DrawnSize, mean_of
from netwarp.values.fields import about
from netwarp.values.units import format_duration


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

    def too_early(self, field: str, ahead_ns: int, does: str, lower: str) -> Iterator[tuple[str, str]]:
        """The problem of a flow that `does` something `ahead_ns` before its start, if that is not within the run.

        `field` is where the scenario says so, and `lower` the field that sets how long before.
        """
        if ahead_ns and not isinstance(self.start, int):
            yield (
                field,
                f"{does} ahead of one start, and `start` is drawn for each flow; give it without a distribution",
            )
        elif ahead_ns > (start := mean_of(self.start)):
            yield (
                field,
                f"{does} {format_duration(ahead_ns)} before its start at {format_duration(start)}, which is before the "
                f"run begins; start it later, or lower `{lower}`",
            )
