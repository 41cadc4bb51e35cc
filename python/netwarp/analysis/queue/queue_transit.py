"""A flow's data packets on their way: drops, marks, and waiting times in queues."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from netwarp.analysis.parts import grouped
from netwarp.analysis.queue.drops import COLUMNS as DROP_COLUMNS
from netwarp.analysis.queue.drops import is_lost
from netwarp.analysis.queue.queues import CE
from netwarp.analysis.tuples import flow_of_tuples
from netwarp.stats.weighting import (
    TimeWeighted,
    Window,
    pool,
    weighted_mean,
    weighted_percentiles,
    weighted_sum,
)
from netwarp.store.codes import Fate
from netwarp.store.rundir import RunDir

_KEYS = ("flow_id", "interface_index")


@dataclass(frozen=True)
class Transits:
    """The passages of a flow's data packets in a window: packets that were dropped on the way or marked in a queue,
    and by interface, in the order of their first packets, the nanoseconds that each sent packet was in the queue."""

    dropped: int
    marked: int
    sojourns: Mapping[int, TimeWeighted]

    @property
    def waited_ns(self) -> Mapping[int, float]:
        """The total wait of all packets that were sent, by interface."""
        return {index: weighted_sum(held.values, held.weights_ns) for index, held in self.sojourns.items()}


def load_transits(run: RunDir, window: Window) -> dict[int, Transits]:
    """Load the transits of each flow's data packets in the window, by flow id.

    This needs exact records: without them it is empty. Raises StoreError.
    """
    if not run.has_rows("packets"):
        return {}
    flow_of = flow_of_tuples(run.scan("tuples").collect(), run.description.flows)
    flow_id = pl.col("tuple_id").replace_strict(flow_of, return_dtype=pl.UInt32).alias("flow_id")
    mine = pl.col("tuple_id").is_in(list(flow_of))
    sent = (pl.col("fate") == Fate.SENT) & pl.col("dequeue_ns").is_between(*window.bounds).fill_null(value=False)
    dropped = (pl.col("fate") == Fate.DROPPED) & pl.col("drop_ns").is_between(*window.bounds).fill_null(value=False)
    marked = (sent & (pl.col("ecn_out") == CE) & (pl.col("ecn_in") != CE)).fill_null(value=False)
    segments = pl.col("segments").cast(pl.Int64)

    def queued(rows: pl.LazyFrame) -> pl.LazyFrame:
        return rows.filter(mine, sent | dropped).select(
            flow_id,
            "interface_index",
            pl.when(sent).then(pl.col("dequeue_ns") - pl.col("enqueue_ns")).alias("sojourn_ns"),
            segments,
            (segments * dropped).alias("dropped"),
            (segments * marked).alias("marked"),
        )

    def elsewhere(rows: pl.LazyFrame) -> pl.LazyFrame:
        within = pl.col("time_ns").is_between(*window.bounds)
        return rows.filter(mine, within, is_lost(run.description)).select(flow_id, segments)

    sums = dict.fromkeys(("segments", "dropped", "marked"), pl.Expr.sum)
    columns = (
        "tuple_id", "interface_index", "fate", "enqueue_ns", "dequeue_ns", "drop_ns", "segments", "ecn_in", "ecn_out"
    )  # fmt: skip
    frame = grouped(run, "packets", columns, queued, keys=(*_KEYS, "sojourn_ns"), joined=sums)
    lost = dict(
        grouped(run, "drops", DROP_COLUMNS, elsewhere, keys=("flow_id",), joined={"segments": pl.Expr.sum}).iter_rows()
    )
    counts = {n: part for n, *part in frame.group_by("flow_id").agg(pl.sum("dropped", "marked")).iter_rows()}
    passed: dict[int, dict[int, TimeWeighted]] = defaultdict(dict)
    known = frame.drop_nulls("sojourn_ns")
    for (flow, index), part in known.partition_by(*_KEYS, maintain_order=True, as_dict=True).items():
        passed[flow][index] = TimeWeighted(*(part[name].to_numpy() for name in ("sojourn_ns", "segments")))
    return {
        flow: Transits(counts.get(flow, (0, 0))[0] + lost.get(flow, 0), counts.get(flow, (0, 0))[1], passed[flow])
        for flow in dict.fromkeys((*counts, *lost))
    }


def bottleneck_of(parts: Sequence[Transits]) -> int | None:
    """The interface in whose queue the packets waited longest in total; None if none was sent in the window."""
    waited: dict[int, float] = defaultdict(float)
    for part in parts:
        for index, total_ns in part.waited_ns.items():
            waited[index] += total_ns
    # Of several, the first one that a packet passed.
    return max(waited, key=waited.__getitem__, default=None)


def passage_metrics(parts: Sequence[Transits]) -> dict[str, float | int | None]:
    """Drops along the whole way, marks in all queues, and the sojourn in the queue with the longest total wait.

    That queue is the flow's bottleneck. Each packet that was sent from it in the window counts once.
    """
    if not parts:
        return {}
    bottleneck = bottleneck_of(parts)
    passed = [part.sojourns.get(bottleneck) for part in parts] if bottleneck is not None else []
    held = pool([one for one in passed if one is not None])
    times = TimeWeighted(held.values / 1e6, held.weights_ns)
    names = ("queue_ms_p95", "queue_ms_p99", "queue_ms_max")
    percentiles = weighted_percentiles(times, (95, 99, 100)) or ()
    return {
        "drops": sum(part.dropped for part in parts),
        "marks": sum(part.marked for part in parts),
        "queue_ms_mean": weighted_mean(times),
        **dict.fromkeys(names),
        **dict(zip(names, percentiles, strict=False)),
    }
