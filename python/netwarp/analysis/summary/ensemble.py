"""The statistics of a result: a row for each point of the sweep and metric, over the runs that differ by their seed."""

from collections.abc import Sequence

import polars as pl

from netwarp.stats.statistics import median_coverage, median_rank
from netwarp.store.run_status import RunStatus

METRIC = ("scope", "name", "metric")
_STATUSES = (RunStatus.FAILED, RunStatus.SUSPECT, RunStatus.MISSING)
_EVERYWHERE = pl.lit(0).alias("_at")  # a key for results without axes


def statistics_frame(summary: pl.DataFrame, axes: Sequence[str]) -> pl.DataFrame:
    """Return a frame: one column per axis, scope, name, metric, n, median, low, high, confidence, mean, sd, min, max,
    left_out, why.

    `low` and `high` contain the true median with `confidence` (see `median_rank`): 0.95 or more, less for fewer than 6
    runs; they are null for one. `n` counts the runs behind a row, `left_out` the other runs at the same point, and
    `why` says how many failed, are suspect or missing, or have no value of this metric. A point without any good run
    is one row without scope, name and metric. Rows are in the summary's order.
    """
    good = summary.filter(pl.col("status") == RunStatus.OK, pl.col("value").is_not_null())
    value = pl.col("value")
    grouped = good.group_by(_EVERYWHERE, *axes, *METRIC, maintain_order=True).agg(
        n=pl.len().cast(pl.Int64),
        median=value.median(),
        sorted=value.sort(),
        mean=value.mean(),
        sd=value.std(),
        min=value.min(),
        max=value.max(),
    )
    runs = _census(summary, axes).join(grouped, on=["_at", *axes], how="left", nulls_equal=True, maintain_order="left")
    return _finished(runs.join(_ranks(grouped["n"]), on="n", how="left", maintain_order="left"), axes)


def _census(summary: pl.DataFrame, axes: Sequence[str]) -> pl.DataFrame:
    """The number of runs planned at each point, and the number of them with each status that is not good."""
    counts = [(pl.col("status") == status).sum().cast(pl.Int64).alias(f"_{status}") for status in _STATUSES]
    runs = summary.unique("run_id", maintain_order=True).group_by(_EVERYWHERE, *axes, maintain_order=True)
    return runs.agg(pl.len().cast(pl.Int64).alias("_planned"), *counts)


def _ranks(counts: pl.Series) -> pl.DataFrame:
    """The rank of the interval's ends, and the interval's confidence, for each number of runs from 2 on."""
    rows = [(n, rank, median_coverage(n, rank)) for n in counts.unique() if n > 1 for rank in [median_rank(n)]]
    return pl.DataFrame(rows, schema={"n": pl.Int64, "rank": pl.Int64, "confidence": pl.Float64}, orient="row")


def _finished(joined: pl.DataFrame, axes: Sequence[str]) -> pl.DataFrame:
    left_out = pl.col("_planned") - pl.col("n")
    silent = left_out - pl.col("_failed") - pl.col("_suspect") - pl.col("_missing")
    reasons = [
        pl.when(count > 0).then(pl.format(text, count))
        for count, text in (
            (pl.col("_failed"), "{} failed"),
            (pl.col("_suspect"), "{} suspect"),
            (pl.col("_missing"), "{} not made"),
            (silent, "{} without a value"),
        )
    ]
    return joined.with_columns(pl.col("n").fill_null(0)).select(
        *axes,
        *METRIC,
        "n",
        "median",
        pl.col("sorted").list.get(pl.col("rank") - 1, null_on_oob=True).alias("low"),
        pl.col("sorted").list.get(-pl.col("rank"), null_on_oob=True).alias("high"),
        "confidence",
        "mean",
        "sd",
        "min",
        "max",
        left_out.alias("left_out"),
        pl.concat_str(reasons, separator=", ", ignore_nulls=True).replace("", None).alias("why"),
    )
