"""The share of a flow beside another, and the harm to it, for each pair of congestion controls."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

import polars as pl

from netwarp.store.run_status import RunStatus


@dataclass(frozen=True)
class Pair:
    """A flow with the control `own` beside one with the control `other`: medians over the seeds.

    `share` is its part of the goodput of both; `harm` is the part that it loses of its goodput without the other flow,
    None if there is no run without it; `seeds` counts the runs.
    """

    own: str
    other: str
    goodput_mbps: float
    other_mbps: float
    share: float
    harm: float | None
    seeds: int


def pairs(summary: pl.DataFrame, own: str, other: str) -> Iterator[Pair]:
    """The pairs of values of the two axes, in the plan's order, of all good runs in which both flows sent data."""
    names = [axis.split(".")[1] for axis in (own, other)]
    rows = summary.filter(pl.col("status") == RunStatus.OK, pl.col("scope") == "flow", pl.col("name").is_in(names))
    found: dict[tuple[str, str], list[tuple[float, float, float | None]]] = {}
    for part in rows.partition_by("run_id", maintain_order=True):
        values = {(name, metric): value for name, metric, value in part.select("name", "metric", "value").iter_rows()}
        mine, its = (values.get((name, "goodput_mbps")) for name in names)
        if mine is None or its is None or mine + its <= 0:
            continue
        row = part.row(0, named=True)
        harm = values.get((names[0], "harm_goodput"))
        found.setdefault((str(row[own]), str(row[other])), []).append((mine, its, harm))
    for (first, second), runs in found.items():
        harms = [harm for *_, harm in runs if harm is not None]
        yield Pair(
            own=first,
            other=second,
            goodput_mbps=median(mine for mine, *_ in runs),
            other_mbps=median(its for _, its, _ in runs),
            share=median(mine / (mine + its) for mine, its, _ in runs),
            harm=median(harms) if harms else None,
            seeds=len(runs),
        )
