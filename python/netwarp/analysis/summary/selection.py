"""Selection of one metric of a summary, by the values of some axes, for figures and comparisons."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from netwarp.common.words import did_you_mean
from netwarp.store.errors import SelectionError
from netwarp.store.run_status import RunStatus

SEED = "seed"
NAME = "name"


@dataclass(frozen=True)
class Cell:
    """The runs at one combination of values: `key` has a value for each axis, `values` has one for each run."""

    key: tuple[Any, ...]
    values: tuple[float, ...]
    run_ids: tuple[str, ...]


@dataclass(frozen=True)
class Selected:
    """A metric of one name (a flow, a queue …) by the axes `by`, cells in the plan's order.

    `pooled` are the other axes in which the runs of a cell differ; `seeds` is the number of seeds. `suspect` and
    `failed` count the runs that were left out.
    """

    scope: str
    metric: str
    name: str
    by: tuple[str, ...]
    cells: tuple[Cell, ...]
    pooled: tuple[str, ...]
    seeds: int
    suspect: int
    failed: int

    def values_of(self, axis: int) -> list[Any]:
        """The values of an axis, each once, in the plan's order."""
        return list(dict.fromkeys(cell.key[axis] for cell in self.cells))


def metric_names(summary: pl.DataFrame) -> list[str]:
    """Every metric of the summary, as `scope.metric`."""
    rows = summary.select("scope", "metric").drop_nulls().unique(maintain_order=True).rows()
    return [f"{scope}.{metric}" for scope, metric in rows]


def check_axes(by: Sequence[str], axes: Sequence[str]) -> None:
    """Raise SelectionError for a name that is not an axis of the result, or is given twice."""
    known = [*axes, SEED, NAME]
    for axis in by:
        if axis not in known:
            raise SelectionError(f'"{axis}" is not an axis of this result{did_you_mean(axis, known)}')
    if len(set(by)) != len(by):
        raise SelectionError(f"an axis is named twice in {', '.join(by)}")


def split_metric(metric: str, known: Iterable[str]) -> tuple[str, str]:
    """Split a metric as the user writes it into scope and name. Raises SelectionError if it was not measured."""
    names = list(known)
    if metric not in names:
        if not names:
            raise SelectionError("no run of this result has any metrics")
        hint = did_you_mean(metric, names) or f" (such as {', '.join(names[:6])})"
        raise SelectionError(f'"{metric}" is not a metric of this result{hint}')
    scope, _, name = metric.partition(".")
    return scope, name


def names_of(summary: pl.DataFrame, scope: str, metric: str) -> list[str]:
    """The flows, queues or links that have the metric; groups of flows without their members."""
    names = summary.filter(scope=scope, metric=metric)["name"].unique(maintain_order=True).to_list()
    return [name for name in names if not is_member(name, names)]


def is_member(name: str, names: Sequence[str]) -> bool:
    """Whether a name is one of a group's (`bulk.0` of `bulk`)."""
    group, _, number = name.rpartition(".")
    return number.isdigit() and group in names


def select(
    summary: pl.DataFrame, axes: Sequence[str], metric: str, by: Sequence[str], names: Sequence[str]
) -> Selected:
    """Select the metric (`scope.metric`) of these names by these axes; suspect and failed runs are only counted.

    If `name` is among the axes all names are included, otherwise there should be one. Raises SelectionError.
    """
    scope, what = split_metric(metric, metric_names(summary))
    check_axes(by, axes)
    runs = summary.unique("run_id", maintain_order=True)
    good = summary.filter(status=RunStatus.OK, scope=scope, metric=what).filter(pl.col("name").is_in(list(names)))
    cells = [
        Cell(key, tuple(part["value"].to_list()), tuple(part["run_id"].to_list()))
        for key, part in good.group_by(*by, maintain_order=True)
    ]
    if not cells:
        raise SelectionError(f"no run that figures can use has {metric}: {_census(runs)}")
    others = [axis for axis in axes if axis not in by and good[axis].n_unique() > 1]
    return Selected(
        scope=scope,
        metric=what,
        name="" if NAME in by else names[0],
        by=tuple(by),
        cells=tuple(cells),
        pooled=tuple(others),
        seeds=1 if SEED in by else good[SEED].n_unique(),
        suspect=runs.filter(status=RunStatus.SUSPECT).height,
        failed=runs.filter(pl.col("status").is_in([RunStatus.FAILED, RunStatus.MISSING])).height,
    )


def _census(runs: pl.DataFrame) -> str:
    counts = runs.group_by("status", maintain_order=True).len().rows()
    return ", ".join(f"{count} {status}" for status, count in counts)
