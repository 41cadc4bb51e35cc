"""Reading packets.arrows into one queue's columns at a time."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from netwarp.analysis.parts import rows_by
from netwarp.analysis.queue.queues import _ABSENT, _NEVER, Packets
from netwarp.store.rundir import RunDir

_COLUMNS = (
    pl.col("enqueue_ns"),
    pl.col("dequeue_ns").fill_null(_NEVER),
    pl.col("drop_ns").fill_null(_NEVER),
    pl.col("length_pkts").cast(pl.Int32),
    pl.col("length_after_pkts").cast(pl.Int32).fill_null(_ABSENT),
    pl.col("fate"),
    pl.col("ecn_in"),
    pl.col("ecn_out").cast(pl.Int8).fill_null(_ABSENT),
    pl.col("packet_bytes"),
    pl.col("segments").cast(pl.Int32),
    pl.col("drop_reason"),
)
_NAMES = [column.meta.output_name() for column in _COLUMNS]


_MOST_ROWS = 1 << 21
"""Up to this many rows, which take 100 MB, the packets of all queues are loaded at once."""


@dataclass(frozen=True)
class QueueFrames:
    """The packets of all queues, as they are recorded; those of one queue are copied when they are asked for.

    So the columns that are computed with, which take twice the memory, are those of one queue at a time. In a long run
    `recorded` is lazy: each queue is read when it is asked for, so that no other takes memory.
    """

    recorded: pl.DataFrame | pl.LazyFrame
    rows: Mapping[int, NDArray[np.intp]]

    def get(self, interface_index: int) -> pl.DataFrame | None:
        """The packets of one interface, with sentinels in place of missing values; None if it has none."""
        if isinstance(self.recorded, pl.LazyFrame):
            own = self.recorded.filter(pl.col("interface_index") == interface_index).select(_NAMES).collect()
            return own.select(_COLUMNS) if own.height else None
        rows = self.rows.get(interface_index)
        return None if rows is None else self.recorded[rows].select(_COLUMNS)


def load_packets(run: RunDir, interface_index: int | None = None) -> QueueFrames:
    """Load the packets of all queues, or only of one."""
    lazy = run.scan("packets").select("interface_index", *_NAMES)
    if interface_index is not None:
        lazy = lazy.filter(pl.col("interface_index") == interface_index)
    if run.length("packets") > _MOST_ROWS:
        return QueueFrames(lazy, {})
    frame = lazy.collect().rechunk()
    return QueueFrames(frame.drop("interface_index"), rows_by(frame["interface_index"]))


def as_packets(frame: pl.DataFrame | None) -> Packets:
    """Return the columns of one queue's frame; None is a queue without packets."""
    if frame is None:
        return _no_packets()
    return Packets(
        enqueue_ns=frame["enqueue_ns"].to_numpy(),
        dequeue_ns=frame["dequeue_ns"].to_numpy(),
        drop_ns=frame["drop_ns"].to_numpy(),
        length=frame["length_pkts"].to_numpy(),
        length_after=frame["length_after_pkts"].to_numpy(),
        fate=frame["fate"].to_numpy(),
        ecn_in=frame["ecn_in"].to_numpy(),
        ecn_out=frame["ecn_out"].to_numpy(),
        segments=frame["segments"].to_numpy(),
    )


def _no_packets() -> Packets:
    times, numbers = np.empty(0, np.int64), np.empty(0, np.int32)
    small = np.empty(0, np.uint8)
    return Packets(times, times, times, numbers, numbers, small, small, small.astype(np.int8), numbers)
