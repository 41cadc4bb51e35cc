"""A flow's data packets on their way: drops, marks, and waiting times in queues."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from netwarp.analysis.queue.drops import is_lost
from netwarp.analysis.queue.queues import CE
from netwarp.analysis.tuples import flow_of_tuples
from netwarp.stats.weighting import Window, percentile
from netwarp.store.codes import Fate
from netwarp.store.rundir import RunDir


def load_transits(run: RunDir, window: Window) -> dict[int, pl.DataFrame]:
    """Load the transits of each flow's data packets in the window, by flow id: a row per packet and queue, or drop.

    Columns: interface_index; segments, the row's number of packets on the wire; sojourn_ns of those sent in the window,
    otherwise null; dropped; marked. This needs exact records: without them it is empty.
    """
    if not run.has_rows("packets"):
        return {}
    flow_of = flow_of_tuples(run.scan("tuples").collect(), run.description.flows)
    sent = (pl.col("fate") == Fate.SENT) & pl.col("dequeue_ns").is_between(*window.bounds)
    flow_id = pl.col("tuple_id").replace_strict(flow_of, return_dtype=pl.UInt32).alias("flow_id")
    queued = (
        run.scan("packets")
        .filter(pl.col("tuple_id").is_in(list(flow_of)))
        .select(
            flow_id,
            "interface_index",
            "segments",
            pl.when(sent).then(pl.col("dequeue_ns") - pl.col("enqueue_ns")).alias("sojourn_ns"),
            ((pl.col("fate") == Fate.DROPPED) & pl.col("drop_ns").is_between(*window.bounds)).alias("dropped"),
            (sent & (pl.col("ecn_out") == CE) & (pl.col("ecn_in") != CE)).fill_null(value=False).alias("marked"),
        )
    )
    elsewhere = (
        run.scan("drops")
        .filter(pl.col("tuple_id").is_in(list(flow_of)), pl.col("time_ns").is_between(*window.bounds))
        .filter(is_lost(run.description))
        .select(
            flow_id,
            "interface_index",
            "segments",
            pl.lit(None, pl.Int64).alias("sojourn_ns"),
            pl.lit(value=True).alias("dropped"),
            pl.lit(value=False).alias("marked"),
        )
    )
    frame = pl.concat([queued, elsewhere]).collect()
    parts = frame.partition_by("flow_id", as_dict=True, include_key=False)
    return {int(flow_id): part for (flow_id,), part in parts.items()}


def bottleneck_of(transits: pl.DataFrame) -> int | None:
    """The interface in whose queue the packets waited longest in total; None if none was sent in the window."""
    waited = (
        transits.drop_nulls("sojourn_ns")
        .group_by("interface_index", maintain_order=True)
        .agg((pl.col("sojourn_ns") * pl.col("segments")).sum())
    )
    return int(waited.row(int(waited["sojourn_ns"].arg_max() or 0))[0]) if waited.height else None


def passage_metrics(parts: Sequence[pl.DataFrame]) -> dict[str, float | int | None]:
    """Drops along the whole way, marks in all queues, and the sojourn in the queue with the longest total wait.

    That queue is the flow's bottleneck. Each packet that was sent from it in the window counts once.
    """
    if not parts:
        return {}
    frame = pl.concat(parts)
    sojourns = frame.drop_nulls("sojourn_ns").filter(pl.col("interface_index") == bottleneck_of(frame))
    times = np.repeat(sojourns["sojourn_ns"].to_numpy() / 1e6, sojourns["segments"].to_numpy())
    return {
        "drops": int(frame.filter("dropped")["segments"].sum()),
        "marks": int(frame.filter("marked")["segments"].sum()),
        "queue_ms_mean": float(times.mean()) if len(times) else None,
        "queue_ms_p95": percentile(times, 95),
        "queue_ms_p99": percentile(times, 99),
        "queue_ms_max": percentile(times, 100),
    }
