"""A flow's data packets on their way through the queues: who was dropped, who was marked, how long they waited."""

from collections.abc import Sequence

import polars as pl

from netwarp.analysis.queues import CE, DROPPED, SENT
from netwarp.analysis.tuples import flow_of_tuples
from netwarp.analysis.weighting import Window, percentile
from netwarp.store.rundir import RunDir


def load_passages(run: RunDir, window: Window) -> dict[int, pl.DataFrame]:
    """By flow id what its data packets met in the window, a row for each queue that a packet passed.

    Columns: interface_index; sojourn_ns of those sent in the window, else absent; dropped; marked. Exact records only:
    without them there is nothing.
    """
    if not run.has_rows("packets"):
        return {}
    flow_of = flow_of_tuples(run.scan("tuples").collect(), run.description.flows)
    sent = (pl.col("fate") == SENT) & pl.col("dequeue_ns").is_between(*window.bounds)
    frame = (
        run.scan("packets")
        .filter(pl.col("tuple_id").is_in(list(flow_of)))
        .select(
            pl.col("tuple_id").replace_strict(flow_of, return_dtype=pl.UInt32).alias("flow_id"),
            "interface_index",
            pl.when(sent).then(pl.col("dequeue_ns") - pl.col("enqueue_ns")).alias("sojourn_ns"),
            ((pl.col("fate") == DROPPED) & pl.col("drop_ns").is_between(*window.bounds)).alias("dropped"),
            (sent & (pl.col("ecn_out") == CE) & (pl.col("ecn_in") != CE)).fill_null(value=False).alias("marked"),
        )
        .collect()
    )
    parts = frame.partition_by("flow_id", as_dict=True, include_key=False)
    return {int(flow_id): part for (flow_id,), part in parts.items()}


def bottleneck_of(passages: pl.DataFrame) -> int | None:
    """The interface in whose queue the packets waited longest in all; None if none was sent in the window."""
    waited = (
        passages.drop_nulls("sojourn_ns").group_by("interface_index", maintain_order=True).agg(pl.sum("sojourn_ns"))
    )
    return int(waited.row(int(waited["sojourn_ns"].arg_max() or 0))[0]) if waited.height else None


def passage_metrics(parts: Sequence[pl.DataFrame]) -> dict[str, float | int | None]:
    """Drops and marks in all queues, and the sojourn in the one where the packets waited longest in all.

    That queue is the flow's bottleneck. Each packet that was sent from it in the window counts once.
    """
    if not parts:
        return {}
    frame = pl.concat(parts)
    sojourns = frame.drop_nulls("sojourn_ns").filter(pl.col("interface_index") == bottleneck_of(frame))
    times = sojourns["sojourn_ns"].to_numpy() / 1e6
    return {
        "drops": int(frame["dropped"].sum()),
        "marks": int(frame["marked"].sum()),
        "queue_ms_mean": float(times.mean()) if len(times) else None,
        "queue_ms_p95": percentile(times, 95),
        "queue_ms_max": percentile(times, 100),
    }
