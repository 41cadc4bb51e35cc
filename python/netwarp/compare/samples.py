"""The values of both sides as matrices: a row per run, a column per metric at a point, NaN for a missing value."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from netwarp.analysis.catalogue.entry import MinEffect
from netwarp.analysis.catalogue.metrics import entry_of
from netwarp.analysis.summary.selection import is_member
from netwarp.common.words import did_you_mean
from netwarp.compare.comparison_input import ComparisonInput
from netwarp.compare.match import Matching, Point
from netwarp.flows.found import accompanying
from netwarp.store.errors import SelectionError
from netwarp.store.planfile import IMPORTED
from netwarp.store.run_status import RunStatus

Numbers = NDArray[np.float64]
_METRIC = ("scope", "name", "metric")


class Subject(NamedTuple):
    """The subject of a column: a metric of a flow, a queue, a link, or the run."""

    scope: str
    name: str
    metric: str

    @property
    def full_metric(self) -> str:
        """Scope and metric, such as `flow.goodput_mbps`."""
        return f"{self.scope}.{self.metric}"

    def __str__(self) -> str:
        """The subject in words, such as `flow.goodput_mbps of bulk`."""
        return self.full_metric + (f" of {self.name}" if self.name else "")

    def min_effect(self, overriding: Sequence[tuple[str, MinEffect]]) -> MinEffect:
        """The smallest difference that matters: that of the last pattern that fits, or the catalogue's."""
        entry = entry_of(self.scope, self.metric)
        found = entry.min_effect if entry else MinEffect(0.05, 0.0)
        for pattern, min_effect in overriding:
            if fnmatchcase(self.full_metric, pattern):
                found = min_effect
        return found


@dataclass(frozen=True)
class Samples:
    """Values of A and of B with the same columns. Rows of paired samples are the common seeds, in order, on both sides.

    `same_points` are those at which every run of one side equals that of the other in everything that was measured,
    `settled` those at which no value of either side varies with the seed. `unasked` are flows that were left out
    because they only accompany others.
    """

    columns: tuple[tuple[Point, Subject], ...]
    seeds_a: tuple[int, ...]
    seeds_b: tuple[int, ...]
    a: Numbers
    b: Numbers
    same_points: frozenset[Point]
    settled: frozenset[Point]
    broken: tuple[Point, ...]
    left_out: tuple[str, ...]
    one_sided: tuple[str, ...]
    unasked: tuple[str, ...]

    @property
    def identical(self) -> bool:
        """Whether everything that was measured is equal."""
        return bool(self.columns) and {point for point, _ in self.columns} == set(self.same_points)

    def paired(self, seeds: Sequence[int]) -> "Samples":
        """Return only the runs of these seeds, in this order on both sides."""
        a = self.a[[self.seeds_a.index(seed) for seed in seeds]]
        b = self.b[[self.seeds_b.index(seed) for seed in seeds]]
        equal = ((a == b) | (np.isnan(a) & np.isnan(b))).all(axis=0) & ~np.isnan(a).all(axis=0)
        differing = {point for (point, _), same in zip(self.columns, equal, strict=True) if not same}
        same = frozenset(point for point, _ in self.columns if point not in differing)
        pair = np.where(np.isnan(a + b), np.nan, 0.0)
        return replace(self, seeds_a=tuple(seeds), seeds_b=tuple(seeds), a=a + pair, b=b + pair, same_points=same)

    def comparable(self, *, paired: bool) -> NDArray[np.intp]:
        """The columns that have values on both sides (if paired: in at least one pair)."""
        if paired:
            return np.flatnonzero(~np.isnan(self.a + self.b).all(axis=0))
        return np.flatnonzero(~np.isnan(self.a).all(axis=0) & ~np.isnan(self.b).all(axis=0))


def gather(
    a: ComparisonInput, b: ComparisonInput, matching: Matching, patterns: Sequence[str], *, short: bool
) -> Samples:
    """Gather the good runs of both sides at the common points, without the members of groups of flows.

    Flows that accompany others (see `accompanying`) are left out as well, unless `short`. Raises SelectionError if a
    pattern fits nothing, or no common point has good runs on both sides.
    """
    unasked = frozenset() if short else frozenset(accompanying(_flows(a)) | accompanying(_flows(b)))
    in_a, in_b = (_values(side, matching, patterns, unasked) for side in (a, b))
    columns = [column for column in in_a if column in in_b]
    good_a, good_b = ({point for point, _ in found} for found in (in_a, in_b))
    broken = tuple(point for point in matching.points if point in good_a and point not in good_b)
    if not columns and not broken:
        raise SelectionError(_nothing(a, b, matching, good_a, good_b))
    seeds_a, matrix_a = _matrix(in_a, columns)
    seeds_b, matrix_b = _matrix(in_b, columns)
    both = good_a & good_b
    return Samples(
        tuple(columns),
        seeds_a,
        seeds_b,
        matrix_a,
        matrix_b,
        frozenset(),
        _settled(a, matching) & _settled(b, matching),
        broken,
        tuple(_left_out(side, matching) for side in (a, b) if _left_out(side, matching)),
        tuple(_one_sided(a, in_a, in_b, both) + _one_sided(b, in_b, in_a, both)),
        tuple(sorted(unasked)),
    )


_Values = Mapping[tuple[Point, Subject], dict[int, float]]


def _good(side: ComparisonInput) -> pl.DataFrame:
    return side.summary.filter(pl.col("status") == RunStatus.OK, pl.col("value").is_not_null())


def _flows(side: ComparisonInput) -> list[str]:
    names: list[str] = _good(side).filter(scope="flow")["name"].unique().to_list()
    return names


def _settled(side: ComparisonInput, matching: Matching) -> frozenset[Point]:
    """The points at which two or more runs with different seeds have the same value of everything that was measured.

    All metrics decide, whichever are compared: one count may agree by chance, but not all values of a run. The seeds of
    an imported result do not count: they number repetitions, which had other sources of randomness.
    """
    if side.plan.get("engine") == IMPORTED:
        return frozenset()
    keys = matching.keys
    here = [pl.lit(0).alias("_at"), *keys]  # without keys there is one point
    good = _good(side)
    runs = good.group_by(here).agg(pl.col("seed").n_unique().alias("_runs"))
    each = good.group_by([*here, *_METRIC]).agg(pl.len().alias("_n"), pl.col("value").n_unique().alias("_values"))
    same = (pl.col("_values") == 1) & (pl.col("_n") == pl.col("_runs")) & (pl.col("_runs") > 1)
    points = each.join(runs, on=["_at", *keys], nulls_equal=True).group_by(here).agg(same.all().alias("_same"))
    return frozenset(tuple(point) for *point, alike in points.select(*keys, "_same").iter_rows() if alike)


def _values(side: ComparisonInput, matching: Matching, patterns: Sequence[str], unasked: frozenset[str]) -> _Values:
    """The value of each seed, by point and subject."""
    good, names = _good(side), _flows(side)
    left_out = {name for name in names if is_member(name, names)} | unasked
    good = good.filter(~((pl.col("scope") == "flow") & pl.col("name").is_in(list(left_out))))
    known = good.select(pl.format("{}.{}", "scope", "metric")).to_series().unique(maintain_order=True).to_list()
    for pattern in patterns:
        if not any(fnmatchcase(metric, pattern) for metric in known):
            hint = did_you_mean(pattern, known) or ""
            raise SelectionError(f'{side.letter} ({side.path}) has no metric "{pattern}"{hint}')
    wanted = [metric for metric in known if not patterns or any(fnmatchcase(metric, pattern) for pattern in patterns)]
    good = good.filter(pl.format("{}.{}", "scope", "metric").is_in(wanted))
    values: dict[tuple[Point, Subject], dict[int, float]] = {}
    points = set(matching.points)
    for *key, scope, name, metric, seed, value in good.select(*matching.keys, *_METRIC, "seed", "value").iter_rows():
        if (point := tuple(key)) in points:
            values.setdefault((point, Subject(scope, name, metric)), {})[seed] = value
    return values


def _matrix(values: _Values, columns: Sequence[tuple[Point, Subject]]) -> tuple[tuple[int, ...], Numbers]:
    seeds = tuple(sorted({seed for column in columns for seed in values[column]}))
    rows = {seed: row for row, seed in enumerate(seeds)}
    matrix = np.full((len(seeds), len(columns)), np.nan)
    for number, column in enumerate(columns):
        for seed, value in values[column].items():
            matrix[rows[seed], number] = value
    return seeds, matrix


def _left_out(side: ComparisonInput, matching: Matching) -> str:
    """Say how many runs of the side at common points do not count; empty if all do."""
    runs = side.summary.unique("run_id", maintain_order=True)
    common = set(matching.points)
    statuses = Counter(
        status for *key, status in runs.select(*matching.keys, "status").iter_rows() if tuple(key) in common
    )
    bad = [
        f"{count} {'not made' if s == RunStatus.MISSING else s}"
        for s, count in sorted(statuses.items())
        if s != RunStatus.OK
    ]
    return f"{side.letter}: of {statuses.total()} runs {', '.join(bad)}, left out" if bad else ""


def _one_sided(side: ComparisonInput, has: _Values, lacks: _Values, both: set[Point]) -> list[str]:
    """The subjects that only one side has at points where both have good runs."""
    found = dict.fromkeys(str(subject) for point, subject in has if point in both and (point, subject) not in lacks)
    return [f"only in {side.letter}: {text}" for text in found]


def _nothing(a: ComparisonInput, b: ComparisonInput, matching: Matching, good_a: set[Point], good_b: set[Point]) -> str:
    if good_a and good_b:
        return f"A ({a.title}) and B ({b.title}) have no metric in common at any common point"
    empty = [f"{side.letter} ({side.title})" for side, good in ((a, good_a), (b, good_b)) if not good]
    return f"{' and '.join(empty)} {'have' if len(empty) > 1 else 'has'} no good run at any of the common points"
