"""Checks of a result against its scenario's `[[expect]]`."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, Protocol

import polars as pl

from netwarp.analysis.summary.conditions import Selection, selection_text, selects
from netwarp.analysis.summary.orders import OrderedRuns, order_text, ordered_runs, span, step_text
from netwarp.stats.intervals import Interval, robust_interval, skewed_confidence
from netwarp.stats.tally import Tally, fewest_seeds, tally

_SMALLEST, _LARGEST = float("-inf"), float("inf")
SURE = 0.999
"""The confidence of an interval that must contain an expected value: at 95 % one correct value of twenty would fail.

For few seeds it is that of normal values; see `skewed_confidence` for others."""
_OF_ONE_RUN = frozenset({"run_id", "seed", "status", "value"})
"""The columns of a summary that differ between the seeds of one point."""


class Expectation(Protocol):
    """A condition on a metric `scope.name` in every run and row that `where` selects.

    It is a bound, `min` and `max` included; or an order, if `ascending` has steps; or a value that the mean over the
    seeds of each point `equals`. Bounds and orders hold with every seed, or with a `share` of them.
    """

    @property
    def metric(self) -> str:
        """Scope and name, such as `flow.goodput_mbps`."""

    @property
    def where(self) -> Selection:
        """The values that a row must have."""

    @property
    def ascending(self) -> Sequence[Selection]:
        """The steps of an order: all values of one step are below all values of the next; may be empty."""

    @property
    def min(self) -> float | None:
        """The lowest correct value."""

    @property
    def max(self) -> float | None:
        """The highest correct value."""

    @property
    def equals(self) -> float | None:
        """The expected mean over the seeds of each point."""

    @property
    def within(self) -> float | Literal["interval"] | None:
        """The tolerance: a fraction of `equals`, or the mean's 99.9 % confidence interval (`robust_interval`)."""

    @property
    def share(self) -> float | None:
        """The minimum share of the seeds with which it holds; None: every seed."""


class Judgement(StrEnum):
    """The judgement on an expectation."""

    MET = "met"
    FAILED = "failed"
    # Only part of the study was planned (--set, --case, --seeds), without the runs that it is about.
    UNCHECKED = "not checked"

    @property
    def look(self) -> "Look":
        """Its look."""
        return {Judgement.MET: Look.MET, Judgement.FAILED: Look.FAILED, Judgement.UNCHECKED: Look.OPEN}[self]


class Look(StrEnum):
    """The look of a judged statement; pages have a style for each."""

    MET = "met"
    FAILED = "failed"
    OPEN = "open"

    @property
    def mark(self) -> str:
        """The sign before the statement."""
        return {Look.MET: "✓", Look.FAILED: "✗", Look.OPEN: "–"}[self]


@dataclass(frozen=True)
class Checked:
    """An expectation and its findings: `values` of the rows that it selects, or, if it has `equals`, the means over
    seeds with their `intervals`, of at least `replicates` seeds each; the `seeds` with which it held, if it is about
    each seed; and a `reason` if there is more to say."""

    expectation: Expectation
    judgement: Judgement
    values: tuple[float, ...]
    outside: int
    reason: str | None = None
    intervals: tuple[Interval, ...] = ()
    seeds: Tally | None = None
    replicates: int = 0

    @property
    def ok(self) -> bool:
        """Whether it did not fail."""
        return self.judgement is not Judgement.FAILED

    @property
    def subject(self) -> str:
        """Its subject in words: `flow.goodput_mbps of bulk, flows.bulk.cc = bbr`."""
        where = dict(self.expectation.where)
        name = where.pop("name", None)
        parts = [self.expectation.metric, *([selection_text({"name": name}).replace("name =", "of")] if name else [])]
        return ", ".join([" ".join(parts), *([selection_text(where)] if where else [])])

    @property
    def sentence(self) -> str:
        """The expectation, the judgement, and the measured value."""
        return f"{self.subject}: expected {self.bound}, {self.judgement}: {self.found}"

    @property
    def bound(self) -> str:
        """The bound in words: `at least 9`, `at most 0.5`, `9 to 10`, `9.5 ± 2 %`; or the order: `CoDel < RED`."""
        share = self.expectation.share
        return self._bound + (f" with at least {100 * share:g} % of the seeds" if share is not None else "")

    @property
    def _bound(self) -> str:
        if self.expectation.ascending:
            return order_text(self.expectation.ascending)
        low, high, equals, within = (getattr(self.expectation, name) for name in ("min", "max", "equals", "within"))
        if equals is not None:
            near = f"in the {100 * SURE:g} % interval of the mean" if within == "interval" else f"± {100 * within:g} %"
            return f"{equals:g} {near}"
        if low is None:
            return f"at most {high:g}"
        return f"at least {low:g}" if high is None else f"{low:g} to {high:g}"

    @property
    def found(self) -> str:
        """The values in words: one value, or the range of several, the number of those outside the bound, and the
        number of seeds with which it held, if there are several."""
        tallied = self.seeds is not None and (self.expectation.share is not None or self.seeds.seeds > 1)
        return f"{self._found}; {self.seeds.text}" if self.seeds is not None and tallied else self._found

    @property
    def _found(self) -> str:
        if self.reason is not None:
            return self.reason
        if len(self.intervals) == 1:
            (mean,) = self.intervals
            interval = f" ({mean.low:.6g} to {mean.high:.6g})" if mean.low is not None else ""
            return f"{mean.mean:.6g}{interval}{self._claim}"
        spread = span(self.values) + (f" ({len(self.values)} values)" if len(self.values) > 1 else "")
        return (f"{spread}, {self.outside} outside" if self.outside and len(self.values) > 1 else spread) + self._claim

    @property
    def _claim(self) -> str:
        """The confidence of an interval of few seeds, if it is lower for skewed values than for normal ones."""
        if self.expectation.within != "interval" or not self.replicates:
            return ""
        skewed = skewed_confidence(self.replicates, SURE)
        if skewed >= SURE:
            return ""
        sure = f"{100 * SURE:g} % if values are normal, {100 * skewed:.0f} % if skewed"
        return f"; {self.replicates} seeds make it {sure}"


def check_expectations(summary: pl.DataFrame, expectations: Sequence[Expectation]) -> list[Checked]:
    """Check each expectation against the rows of a summary, in order.

    It is met if at least one row matches and every value is in [min, max] or in order; NaN never is.
    If it claims a share of the seeds, it fails if it held with so few of them that this refutes the share, and is not
    checked if there are too few seeds to refute it.
    With `equals` the means over seeds count; without a second seed a mean has no interval, and nothing is checked.
    If no row matches it fails, unless the plan has none of the runs that it is about. Rows of suspect runs count;
    failed runs have none.
    """
    return [_check_order(summary, one) if one.ascending else _check(summary, one) for one in expectations]


def _check(summary: pl.DataFrame, expectation: Expectation) -> Checked:
    planned = summary.filter(*selects(summary, expectation.where, runs_only=True))
    if planned.height == 0:
        return Checked(expectation, Judgement.UNCHECKED, (), 0, "it applies to no run of this plan")
    scope, _, metric = expectation.metric.partition(".")
    rows = planned.filter(*selects(planned, expectation.where), scope=scope, metric=metric).drop_nulls("value")
    values = tuple(rows["value"].to_list())
    if not values:
        return Checked(expectation, Judgement.FAILED, (), 0, _why_nothing(planned, scope, metric))
    if expectation.equals is not None:
        return _check_means(rows, expectation, expectation.equals)
    low = _SMALLEST if expectation.min is None else expectation.min
    high = _LARGEST if expectation.max is None else expectation.max
    inside = [low <= value <= high for value in values]
    return _judged(expectation, values, list(zip(rows["seed"].to_list(), inside, strict=True)))


def _judged(
    expectation: Expectation,
    values: tuple[float, ...],
    held: Sequence[tuple[int | None, bool]],
    reason: str | None = None,
) -> Checked:
    """Judge an expectation about every seed, or about a share of them, from pairs of a seed and whether it held."""
    broken = sum(not one for _, one in held)
    seeds, share = tally(held), expectation.share
    if share is None:
        judgement = Judgement.FAILED if broken else Judgement.MET
    elif seeds.seeds < (fewest := fewest_seeds(share)):
        judgement, reason = Judgement.UNCHECKED, f"this needs {fewest} seeds"
    else:
        judgement = Judgement.FAILED if seeds.refutes(share) else Judgement.MET
    return Checked(expectation, judgement, values, broken, reason, (), seeds)


def _check_order(summary: pl.DataFrame, expectation: Expectation) -> Checked:
    """Check an order. Steps without planned runs are left out, so that part of a study is checked for its part."""
    chosen = summary.filter(*selects(summary, expectation.where, runs_only=True))
    planned = {at: chosen.filter(*selects(chosen, s, runs_only=True)) for at, s in enumerate(expectation.ascending)}
    steps = [expectation.ascending[at] for at, runs in planned.items() if runs.height]
    if len(steps) < 2:
        return Checked(expectation, Judgement.UNCHECKED, (), 0, "it applies to fewer than two runs of this plan")
    scope, _, metric = expectation.metric.partition(".")
    rows = chosen.filter(*selects(chosen, expectation.where), scope=scope, metric=metric)
    for step in steps:
        if not rows.filter(*selects(rows, step))["value"].is_not_null().any():
            why = _why_nothing(chosen.filter(*selects(chosen, step, runs_only=True)), scope, metric)
            return Checked(expectation, Judgement.FAILED, (), 0, f"{step_text(step)}: {why}")
    compared = list(ordered_runs(rows, steps))
    if not compared:
        return Checked(expectation, Judgement.FAILED, (), 0, "no two of these runs are otherwise alike")
    values = tuple(value for one in compared for step in one.values for value in step)
    broken = [one for one in compared if one.broken is not None]
    held = [(one.seed, one.broken is None) for one in compared]
    return _judged(expectation, values, held, _order_found(compared, broken, steps))


def _order_found(compared: Sequence[OrderedRuns], broken: Sequence[OrderedRuns], steps: Sequence[Selection]) -> str:
    """The values of one comparison in words (the first that breaks the order, or the first), and how many break it."""
    one = (broken or compared)[0]
    place = f" at {one.place}" if one.place else ""
    if (at := one.broken) is None:
        return f"{one.text}{place}" + (f", and so in all {len(compared)} comparisons" if len(compared) > 1 else "")
    many = f"; {len(broken)} of {len(compared)} comparisons are out of order" if len(compared) > 1 else ""
    low, high = (f"{step_text(steps[k])} ({span(one.values[k])})" for k in (at, at + 1))
    return f"{low} is not below {high}{place}{many}"


def _check_means(rows: pl.DataFrame, expectation: Expectation, equals: float) -> Checked:
    """Check the mean over the seeds of each point and name."""
    points = [column for column in rows.columns if column not in _OF_ONE_RUN]
    parts = [part["value"].to_list() for part in rows.partition_by(points, maintain_order=True)]
    means = [robust_interval(part, SURE) for part in parts]
    values, fewest = tuple(mean.mean for mean in means), min(map(len, parts))
    if expectation.within == "interval" and any(mean.low is None for mean in means):
        return Checked(expectation, Judgement.UNCHECKED, values, 0, "an interval needs a second seed", tuple(means))
    far = [mean for mean in means if not _is_near(mean, equals, expectation.within)]
    reason = None
    if expectation.within == "interval" and (point := next((mean for mean in far if mean.low == mean.high), None)):
        reason = f'{point.mean:.6g} with every seed, which leaves no interval; say how close, such as within = "1%"'
    judgement = Judgement.FAILED if far else Judgement.MET
    return Checked(expectation, judgement, values, len(far), reason, tuple(means), replicates=fewest)


def _is_near(mean: Interval, equals: float, within: float | Literal["interval"] | None) -> bool:
    if isinstance(within, float):
        return abs(mean.mean - equals) <= within * abs(equals)
    return mean.holds(equals)


def _why_nothing(planned: pl.DataFrame, scope: str, metric: str) -> str:
    if planned["metric"].is_null().all():
        return "there is no value: the run has no metrics" if planned.height == 1 else "there is no value in any run"
    known = planned.filter(scope=scope)["metric"].unique(maintain_order=True).drop_nulls().to_list()
    if metric in known:
        names = planned.filter(scope=scope, metric=metric)["name"].unique(maintain_order=True).to_list()
        return f"there is no value of this name; there are {', '.join(names)}"
    return f"nothing was measured by this name; of {scope} there are {', '.join(known) or 'no metrics'}"
