"""The inner state of queues over time: reports of their disciplines (`queue_states`), and RED's average."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from netwarp.analysis.queue.red import averages, backlog_found, idle_ns, red_of
from netwarp.store.description import End
from netwarp.store.rundir import RunDir

_MINOR = 0xFFFF
_RED_COLUMNS = ("enqueue_ns", "dequeue_ns", "packet_bytes", "backlog_bytes", "fate")


@dataclass(frozen=True)
class QueueStates:
    """The rows of `queue_states` of one end of a link, in the order of time."""

    end: End
    rows: pl.DataFrame

    def whole(self, name: str) -> pl.DataFrame:
        """A variable of the discipline: time_s, value. Empty if it reports none of this name.

        If several disciplines of the interface report it, it is the first one's.
        """
        rows = self.rows.filter(pl.col("handle") & _MINOR == 0, pl.col("tin").is_null(), name=name)
        return _frame(rows.filter(pl.col("handle") == pl.col("handle").first()))

    def tins(self, name: str) -> Mapping[int, pl.DataFrame]:
        """A variable of each tin of CAKE: time_s, value."""
        parts = self.rows.filter(pl.col("tin").is_not_null(), name=name).partition_by("tin", as_dict=True)
        return {int(tin): _frame(part) for (tin,), part in parts.items()}

    def classes(self, kind: str, name: str) -> Mapping[int, pl.DataFrame]:
        """A variable of each class of a discipline that it reported, by the class's number: time_s, value."""
        rows = self.rows.filter(pl.col("handle") & _MINOR != 0, kind=kind, name=name)
        return {int(handle): _frame(part) for (handle,), part in rows.partition_by("handle", as_dict=True).items()}

    def backlogs(self, kind: str) -> Mapping[int, pl.DataFrame]:
        """The bytes in each flow queue at each sample: time_s, value. One that is not reported is empty."""
        times = _frame(self.rows.unique("time_ns", maintain_order=True)).select("time_s")
        return {
            handle: times.join(frame, on="time_s", how="left", maintain_order="left").fill_null(0.0)
            for handle, frame in self.classes(kind, "backlog_bytes").items()
        }


def load_queue_states(run: RunDir) -> list[QueueStates]:
    """The states of all queues that the run recorded, in the order of the lab's interfaces."""
    parts = run.scan("queue_states").sort("time_ns", maintain_order=True).collect()
    by_end = parts.partition_by("interface_index", as_dict=True)
    ends = run.description.ends
    return [QueueStates(end, by_end[(end.interface_index,)]) for end in ends if (end.interface_index,) in by_end]


def red_average(run: RunDir, end: End) -> pl.DataFrame:
    """RED's average at each arrival: time_s, value in bytes. Empty if the queue is not RED, or without exact records.

    Linux does not report it, so it is computed from the packets in the kernel's arithmetic. A RED below a shaper never
    learns that its link is idle; on a device it does.
    """
    red = red_of(end.queue)
    if red is None or (end.device and end.rates is None):
        return _frame(pl.DataFrame(schema={"time_ns": pl.Int64, "value": pl.Float64}))
    packets = run.scan("packets").filter(interface_index=end.interface_index).select(_RED_COLUMNS)
    arrived = packets.sort("enqueue_ns", maintain_order=True).collect()
    backlog = backlog_found(arrived)
    found = averages(red, backlog, idle_ns(end, arrived, backlog) if end.device else None)
    return _frame(arrived.select(pl.col("enqueue_ns").alias("time_ns")).with_columns(value=pl.Series(found)))


def _frame(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.select((pl.col("time_ns") / 1e9).alias("time_s"), "value")
