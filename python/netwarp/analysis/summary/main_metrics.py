"""The metrics in the main table of a result, and the queue that they describe."""

from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from netwarp.analysis.catalogue.metrics import CATALOGUE


class MainMetric(NamedTuple):
    """A column of the main table: its metric, its heading in lines, and how many digits there are after the point."""

    scope: str
    metric: str
    heading: str
    digits: int


MAIN_METRICS = tuple(
    MainMetric(scope, metric, heading, one.digits)
    for scope, entries in CATALOGUE.items()
    for one in entries
    for metric, heading in one.main.items()
)


def busiest_queue(metrics: pl.DataFrame, point: Sequence[str] = ("run_id",)) -> str | None:
    """Return the `link:node` that dropped or marked most, or had the longest queue on average if none did.

    Each of several runs, which differ in the columns `point`, has one vote, divided among the queues that signalled in
    it: a case that moves the congestion elsewhere does not decide for all others. None without queue metrics. Drops and
    marks, in the queue or in a filter before it, signal senders to slow down; in the longest queue packets may only
    wait for their turn.
    """
    value, metric, signals = pl.col("value"), pl.col("metric"), pl.col("signals")
    at_filter = (pl.col("scope") == "place") & pl.col("name").str.contains(":")
    whole = signals.sum().over(point) if point else signals.sum()
    queues = (
        metrics.filter((pl.col("scope") == "queue") | at_filter, metric.is_in(["length_pkts_mean", "drops", "marks"]))
        .with_columns(pl.col("name").str.split(" ").list.first())
        .group_by(*point, "name", maintain_order=True)
        .agg(
            value.filter(metric.is_in(["drops", "marks"])).sum().alias("signals"),
            value.filter(metric == "length_pkts_mean").mean().alias("length"),
        )
        .with_columns(pl.when(whole > 0).then(signals / whole).otherwise(0.0).alias("share"))
        .group_by("name", maintain_order=True)
        .agg(pl.col("share").sum(), pl.col("length").mean())
        .drop_nulls("length")
        .sort("share", "length", descending=True, maintain_order=True)
    )
    return str(queues["name"][0]) if queues.height else None
