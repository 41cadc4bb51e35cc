"""A flow's data packets on their way: drops, marks, and waiting times in queues."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from netwarp.analysis.parts import parts_by
from netwarp.analysis.queue.drops import is_lost
from netwarp.analysis.queue.queues import CE
from netwarp.analysis.tuples import flow_of_tuples
from netwarp.stats.weighting import Times, Window, percentile
from netwarp.store.codes import Fate
from netwarp.store.rundir import RunDir

_KEYS = ("flow_id", "interface_index")


@dataclass(frozen=True)
class Transits:
    """The passages of a flow's data packets in a window, columns of equal length: a row per packet and queue, or drop.

    `segments` is the row's number of packets on the wire; `sojourn_ns` is that of those `sent` in the window, otherwise
    0. `waited_ns` is the total wait of all packets that were sent, by interface, in the order of their first packets.
    """

    interface_index: NDArray[np.uint32]
    segments: NDArray[np.uint32]
    sent: NDArray[np.bool_]
    sojourn_ns: Times
    dropped: NDArray[np.bool_]
    marked: NDArray[np.bool_]
    waited_ns: Mapping[int, int]


def load_transits(run: RunDir, window: Window) -> dict[int, Transits]:
    """Load the transits of each flow's data packets in the window, by flow id.

    This needs exact records: without them it is empty.
    """
    if not run.has_rows("packets"):
        return {}
    flow_of = flow_of_tuples(run.scan("tuples").collect(), run.description.flows)
    sent = (pl.col("fate") == Fate.SENT) & pl.col("dequeue_ns").is_between(*window.bounds).fill_null(value=False)
    flow_id = pl.col("tuple_id").replace_strict(flow_of, return_dtype=pl.UInt32).alias("flow_id")
    dropped = (pl.col("fate") == Fate.DROPPED) & pl.col("drop_ns").is_between(*window.bounds)
    marked = sent & (pl.col("ecn_out") == CE) & (pl.col("ecn_in") != CE)
    queued = (
        run.scan("packets")
        .filter(pl.col("tuple_id").is_in(list(flow_of)))
        .select(
            flow_id,
            "interface_index",
            "segments",
            sent.alias("sent"),
            pl.when(sent).then(pl.col("dequeue_ns") - pl.col("enqueue_ns")).otherwise(0).alias("sojourn_ns"),
            dropped.fill_null(value=False).alias("dropped"),
            marked.fill_null(value=False).alias("marked"),
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
            pl.lit(value=False).alias("sent"),
            pl.lit(0, pl.Int64).alias("sojourn_ns"),
            pl.lit(value=True).alias("dropped"),
            pl.lit(value=False).alias("marked"),
        )
    )
    frame = pl.concat([queued, elsewhere]).collect()
    waited: dict[int, dict[int, int]] = defaultdict(dict)
    wait = (pl.col("sojourn_ns") * pl.col("segments")).sum()
    for flow, index, total in frame.filter("sent").group_by(*_KEYS, maintain_order=True).agg(wait).iter_rows():
        waited[flow][index] = total
    return {flow: Transits(**part, waited_ns=waited[flow]) for flow, part in parts_by(frame, "flow_id").items()}


def bottleneck_of(parts: Sequence[Transits]) -> int | None:
    """The interface in whose queue the packets waited longest in total; None if none was sent in the window."""
    waited = Counter[int]()
    for part in parts:
        waited.update(part.waited_ns)
    # Of several, the first one that a packet passed.
    return max(waited, key=waited.__getitem__, default=None)


def passage_metrics(parts: Sequence[Transits]) -> dict[str, float | int | None]:
    """Drops along the whole way, marks in all queues, and the sojourn in the queue with the longest total wait.

    That queue is the flow's bottleneck. Each packet that was sent from it in the window counts once.
    """
    if not parts:
        return {}
    bottleneck = bottleneck_of(parts)
    passed = [(part, part.sent & (part.interface_index == bottleneck)) for part in parts]
    times = np.concatenate([np.repeat(part.sojourn_ns[at] / 1e6, part.segments[at]) for part, at in passed])
    return {
        "drops": sum(int(part.segments[part.dropped].sum()) for part in parts),
        "marks": sum(int(part.segments[part.marked].sum()) for part in parts),
        "queue_ms_mean": float(times.mean()) if len(times) else None,
        "queue_ms_p95": percentile(times, 95),
        "queue_ms_p99": percentile(times, 99),
        "queue_ms_max": percentile(times, 100),
    }
