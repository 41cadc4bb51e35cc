"""Chooses the figures of metrics that say most about a result."""

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from netwarp.analysis.catalogue.metrics import CATALOGUE
from netwarp.analysis.summary.selection import NAME, SEED, names_of
from netwarp.plots.charts.metric import axes_for
from netwarp.plots.labels import numbers_of
from netwarp.store.result import ResultDir
from netwarp.store.run_status import RunStatus

_BOXES_FROM = 5
_MAP_FROM = 3
_SAME = 0.1
"""Medians that differ by less, as a share of the largest, look the same in a figure."""


@dataclass(frozen=True)
class Wish:
    """A figure of a metric to draw: its axes (empty: all that vary), and its kind."""

    metric: str
    by: tuple[str, ...] = ()
    kind: str = "auto"

    @property
    def command(self) -> str:
        """The command that draws it."""
        axes = f" --by {','.join(self.by)}" if self.by else ""
        return f"netwarp plot DIR --metric {self.metric}{axes}" + (
            f" --kind {self.kind}" if self.kind != "auto" else ""
        )


def wishes(result: ResultDir) -> Iterator[Wish]:
    """The figures to draw, the most telling first: metrics over all axes that vary, maps, boxes, distributions."""
    summary = result.summary().filter(status=RunStatus.OK)
    seeds = summary["seed"].n_unique()
    axes = tuple(axis for axis in axes_for(result) if summary[axis].n_unique() > 1)
    have = {scope: set(part["metric"].to_list()) for (scope,), part in summary.group_by("scope")}
    chosen = list(_overview(have))
    many = {scope: len(names_of(summary, scope, metric)) > 1 for scope, metric in chosen}
    for times in ("completion_ms", "page_load_ms"):
        if f"{times}_p50" in have.get("flow", ()) and not axes:
            yield Wish(f"flow.{times}", (NAME,))  # the distribution of each group's times
    for scope, metric in chosen if axes or seeds > 1 else ():
        together = (NAME,) if scope == "flow" and many[scope] and len(axes) < 2 else ()
        by = (*axes, *together) or (SEED,)
        yield Wish(f"{scope}.{metric}", by, "box" if seeds >= _BOXES_FROM and axes and scope == "flow" else "auto")
    if len(axes) == 2 and min(summary[axis].n_unique() for axis in axes) >= _MAP_FROM:
        for scope, metric in chosen[:2]:
            if numbers_of(summary[axes[1]].unique(maintain_order=True).to_list()) is None or seeds >= _BOXES_FROM:
                yield Wish(f"{scope}.{metric}", axes, "heatmap")
    for metric in ("flow.rtt_ms", "queue.sojourn_ms", "flow.completion_ms", "flow.page_load_ms"):
        yield Wish(metric, axes[:2] or (NAME,))


def wishes_that_differ(result: ResultDir) -> list[Wish]:
    """The same figures, with those first that show a visible difference between points."""
    summary = result.summary().filter(status=RunStatus.OK)
    axes = [axis for axis in axes_for(result) if summary[axis].n_unique() > 1]
    return sorted(wishes(result), key=lambda wish: _largest_difference(summary, wish.metric, axes) < _SAME)


def _largest_difference(summary: pl.DataFrame, metric: str, axes: Sequence[str]) -> float:
    """The largest difference between medians of one flow, queue or link, as a share of the largest; 0 without any."""
    scope, _, stem = metric.partition(".")
    rows = summary.filter(pl.col("scope") == scope, pl.col("metric") == stem, pl.col("value").is_not_null())
    medians = rows.group_by(NAME, *axes).agg(pl.col("value").median())
    high = pl.col("value").max()
    shares = medians.group_by(NAME).agg(share=(high - pl.col("value").min()) / high).filter(pl.col("share").is_finite())
    return float(shares["share"].max() or 0.0)  # type: ignore[arg-type]  # polars does not know that it is a number


def _overview(have: Mapping[str, Container[str]]) -> Iterator[tuple[str, str]]:
    """The metrics of the runs that the catalogue shows by default, one of each topic."""
    for scope, entries in CATALOGUE.items():
        topics: dict[str, str] = {}
        for one in entries:
            if one.overview in have.get(scope, ()):
                topics.setdefault(one.topic or one.stem, one.overview)
        yield from ((scope, metric) for metric in topics.values())
