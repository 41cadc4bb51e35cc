"""Whether flows lose packets at the same times: global synchronisation, of which tail drop is suspected and which RED
is meant to avoid (S. Floyd, V. Jacobson: Random Early Detection Gateways for Congestion Avoidance, IEEE/ACM ToN 1(4),
1993)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from netwarp.analysis.flow.flows import FlowData
from netwarp.analysis.metric import Metric, rows
from netwarp.analysis.queue.queues import CE
from netwarp.analysis.tuples import flow_of_tuples
from netwarp.stats.weighting import Window, weighted_mean
from netwarp.store.codes import Fate
from netwarp.store.rundir import RunDir

ROUND_TRIPS = 2
"""The length of an interval in mean round trips: senders answer the losses of one overflow within about one."""


def synchronisation_metrics(run: RunDir, flows: Sequence[FlowData], window: Window) -> Iterator[Metric]:
    """The mean correlation of the losses of two flows of TCP; absent without exact records, or for fewer than two flows
    that lost something."""
    sharing = [data for data in flows if data.flow.shares]
    rtts_ms = [mean for data in sharing if (mean := weighted_mean(data.rtts_ms())) is not None]
    if len(sharing) < 2 or not rtts_ms or not run.has_rows("packets"):
        return
    interval_ns = max(round(ROUND_TRIPS * float(np.mean(rtts_ms)) * 1e6), 1)
    losing = _intervals_with_losses(run, [data.flow.id for data in sharing], window, interval_ns)
    yield from rows("run", "", {"loss_correlation": mean_correlation(losing)})


def mean_correlation(events: NDArray[np.bool_]) -> float | None:
    """The mean Pearson correlation over all pairs of rows; a row that is the same throughout has none.

    None for fewer than two other rows. For standardised rows z the sum over all pairs, each twice, is
    Σ_t (Σ_i z_i(t))² / T − n.
    """
    varying = events[events.any(axis=1) & ~events.all(axis=1)].astype(np.float64)
    count, intervals = varying.shape
    if count < 2:
        return None
    centred = varying - varying.mean(axis=1, keepdims=True)
    together = (centred / centred.std(axis=1, keepdims=True)).sum(axis=0)
    return float(((together**2).sum() / intervals - count) / (count * (count - 1)))


def _intervals_with_losses(run: RunDir, flow_ids: Sequence[int], window: Window, interval_ns: int) -> NDArray[np.bool_]:
    """For each flow and interval of the window, whether a queue dropped one of its packets, or marked it."""
    flow_of = flow_of_tuples(run.scan("tuples").collect(), run.description.flows)
    rows_of = {flow: row for row, flow in enumerate(flow_ids)}
    of = {tuple_id: rows_of[flow] for tuple_id, flow in flow_of.items() if flow in rows_of}
    dropped = pl.col("fate") == Fate.DROPPED
    marked = (pl.col("ecn_out") == CE) & (pl.col("ecn_in") != CE)
    time_ns = pl.when(dropped).then("drop_ns").otherwise("dequeue_ns")
    found = (
        run.scan("packets")
        .filter(pl.col("tuple_id").is_in(list(of)), dropped | marked)
        .select(
            pl.col("tuple_id").replace_strict(of, return_dtype=pl.UInt32).alias("row"),
            ((time_ns - window.start_ns) // interval_ns).alias("interval"),
        )
        .filter(pl.col("interval").is_between(0, window.length_ns // interval_ns - 1))
        .unique()
        .collect()
    )
    events = np.zeros((len(flow_ids), max(window.length_ns // interval_ns, 1)), dtype=np.bool_)
    events[found["row"].to_numpy(), found["interval"].to_numpy()] = True
    return events
