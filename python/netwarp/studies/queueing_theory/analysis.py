"""Measured means at each load, compared with queueing theory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from netwarp.stats.intervals import CONFIDENCE, Interval, mean_interval, robust_interval
from netwarp.store.findings import Finding, Holds
from netwarp.store.result import ResultDir
from netwarp.studies.queueing_theory.system import System, system_of
from netwarp.studies.queueing_theory.theory import Means

NEAR = 0.02


@dataclass(frozen=True)
class Quantity:
    """A compared quantity: `field` of Means times `factor`, and the metric that measures it."""

    name: str
    unit: str
    field: str
    factor: float
    scope: str
    metric: str

    def of(self, means: Means) -> float:
        """The quantity of these means, in its unit."""
        return float(getattr(means, self.field)) * self.factor


QUANTITIES = (
    Quantity("time in the system", "ms", "sojourn", 1, "flow", "delay_ms_mean"),
    Quantity("wait in the queue", "ms", "wait", 1, "queue", "sojourn_ms_mean"),
    Quantity("packets that wait", "packets", "waiting", 1, "queue", "length_pkts_mean"),
    Quantity("loss", "%", "loss", 100, "flow", "loss_pct"),
)


@dataclass(frozen=True)
class Compared:
    """One quantity at one load: the mean over seeds with its interval, and the value of theory.

    `ideal` is theory for exponential sizes of the same mean. `ratio` is measured / theory; it and `inside` (whether the
    interval contains theory) are absent if a loss is so rare that not every seed has one. One in twenty 95 % intervals
    misses; `plausible` uses the wider ones that hold for all of the study's loads together (Bonferroni).
    """

    load: float
    quantity: str
    unit: str
    seeds: int
    measured: float
    low: float | None
    high: float | None
    theory: float
    model: str
    ideal: float | None
    ideal_model: str | None
    ratio: float | None
    inside: bool | None
    plausible: bool | None


def loads_of(result: ResultDir) -> dict[str, tuple[System, float]]:
    """The queue and the load of each run that has metrics."""
    measured = set(result.summary().drop_nulls("value")["run_id"])
    runs = (run.id for run in result.planned if run.id in measured)
    return {run: system_of(result.run(run).lab) for run in runs}


def compare_with_theory(summary: pl.DataFrame, loads: dict[str, float], system: System) -> Iterator[Compared]:
    """Each quantity at each load, over the seeds; `loads` maps the ids of runs to their loads."""
    together = 1 - (1 - CONFIDENCE) / len(set(loads.values()))
    for load in sorted(set(loads.values())):
        runs = [run for run, its in loads.items() if its == load]
        for quantity in QUANTITIES:
            if quantity.field == "loss" and system.room is None:
                continue
            rows = summary.filter(pl.col("run_id").is_in(runs), scope=quantity.scope, metric=quantity.metric)
            # The queue at the other end of the link is empty, with a mean length of 0.
            values = rows.group_by("run_id", maintain_order=True).agg(pl.col("value").max())["value"].to_list()
            if values:
                yield _compared(load, quantity, values, system, together)


def _compared(load: float, quantity: Quantity, values: Sequence[float], system: System, together: float) -> Compared:
    mean: Interval = mean_interval(values)
    expected = quantity.of(system.means(load))
    ideal = system.ideal(load)
    rare = min(values) == 0
    return Compared(
        load=load,
        quantity=quantity.name,
        unit=quantity.unit,
        seeds=len(values),
        measured=mean.mean,
        low=mean.low,
        high=mean.high,
        theory=expected,
        model=system.name,
        ideal=None if ideal is None else quantity.of(ideal),
        ideal_model=None if ideal is None else system.ideal_name,
        ratio=None if rare else mean.mean / expected,
        inside=None if rare or mean.low is None else mean.holds(expected),
        plausible=None if rare or mean.low is None else robust_interval(values, together).holds(expected),
    )


def findings_of(rows: Sequence[Compared]) -> Iterator[Finding]:
    """Say for each quantity whether theory holds at every load: inside the joint intervals, or within 2 %."""
    for name in dict.fromkeys(row.quantity for row in rows):
        its = [row for row in rows if row.quantity == name and row.ratio is not None]
        if not its:
            continue
        off = [row for row in its if not row.plausible and abs((row.ratio or 0) - 1) > NEAR]
        farthest = max(its, key=lambda row: abs((row.ratio or 0) - 1))
        inside = sum(bool(row.inside) for row in its)
        yield Finding(
            f"{name}: that of {its[0].model} at loads of "
            f"{its[0].load:g} to {its[-1].load:g}, within 2 % or what the seeds differ by",
            Holds.NO if off else Holds.YES,
            f"in the 95 % interval at {inside} of {len(its)} loads; "
            f"the farthest is {100 * ((farthest.ratio or 0) - 1):+.1f} % at {farthest.load:g}",
        )
