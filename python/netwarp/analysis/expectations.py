"""Whether a result is what its scenario's `[[expect]]` says it should be."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

import polars as pl

from netwarp.store.summary import axis_text

_SMALLEST, _LARGEST = float("-inf"), float("inf")


class Expectation(Protocol):
    """A bound on a metric `scope.name` in every run and row that `where` selects; `min` and `max` are included."""

    @property
    def metric(self) -> str:
        """Scope and name, such as `flow.goodput_mbps`."""

    @property
    def where(self) -> Mapping[str, str | int | float | bool]:
        """What a row must have: `name` (of a flow, queue, link), `case`, `seed`, or an axis' value by its path."""

    @property
    def min(self) -> float | None:
        """The least value that is right."""

    @property
    def max(self) -> float | None:
        """The greatest value that is right."""


class Judgement(StrEnum):
    """What came of an expectation."""

    MET = "met"
    FAILED = "failed"
    # Only part of the study was planned (--set, --case, --seeds), and none of the runs that it speaks of.
    UNCHECKED = "not checked"


@dataclass(frozen=True)
class Checked:
    """An expectation and what was found: `values` of the rows that it selects, `reason` where there is more to say."""

    expectation: Expectation
    judgement: Judgement
    values: tuple[float, ...]
    outside: int
    reason: str | None = None

    @property
    def ok(self) -> bool:
        """Whether nothing speaks against it."""
        return self.judgement is not Judgement.FAILED

    @property
    def subject(self) -> str:
        """What it is about: `flow.goodput_mbps of bulk, flows.bulk.cc = bbr`."""
        where = dict(self.expectation.where)
        name = where.pop("name", None)
        parts = [self.expectation.metric + (f" of {name}" if name is not None else "")]
        return ", ".join([*parts, *(f"{key} = {axis_text(value)}" for key, value in where.items())])

    @property
    def bound(self) -> str:
        """The bound in words: `at least 9`, `at most 0.5`, `9 to 10`."""
        low, high = self.expectation.min, self.expectation.max
        if low is None:
            return f"at most {high:g}"
        return f"at least {low:g}" if high is None else f"{low:g} to {high:g}"

    @property
    def found(self) -> str:
        """The values in words: one value, or the range of several, and how many of them are outside the bound."""
        if self.reason is not None:
            return self.reason
        low, high = min(self.values), max(self.values)
        spread = f"{low:.6g}" if len(self.values) == 1 else f"{low:.6g} to {high:.6g} ({len(self.values)} values)"
        return f"{spread}, {self.outside} outside" if self.outside and len(self.values) > 1 else spread


def check_expectations(summary: pl.DataFrame, expectations: Sequence[Expectation]) -> list[Checked]:
    """Check each expectation against the rows of a summary, in order.

    It is met if at least one row matches and every value lies in [min, max]; a value that is NaN does not. Where no row
    matches it fails, unless no run of the plan is one of those it speaks of. Rows of suspect runs count, failed runs
    have none.
    """
    return [_check(summary, expectation) for expectation in expectations]


def _check(summary: pl.DataFrame, expectation: Expectation) -> Checked:
    planned = summary.filter(*_conditions(summary, expectation, runs_only=True))
    if planned.height == 0:
        return Checked(expectation, Judgement.UNCHECKED, (), 0, "no run of this plan is meant")
    scope, _, metric = expectation.metric.partition(".")
    rows = planned.filter(
        pl.col("scope") == scope, pl.col("metric") == metric, *_conditions(planned, expectation, runs_only=False)
    )
    values = tuple(rows["value"].drop_nulls().to_list())
    if not values:
        return Checked(expectation, Judgement.FAILED, (), 0, _why_nothing(planned, scope, metric))
    low = _SMALLEST if expectation.min is None else expectation.min
    high = _LARGEST if expectation.max is None else expectation.max
    outside = sum(not low <= value <= high for value in values)
    return Checked(expectation, Judgement.FAILED if outside else Judgement.MET, values, outside)


def _why_nothing(planned: pl.DataFrame, scope: str, metric: str) -> str:
    if planned["metric"].is_null().all():
        return "there is no value: the run has no metrics" if planned.height == 1 else "there is no value in any run"
    known = planned.filter(scope=scope)["metric"].unique(maintain_order=True).drop_nulls().to_list()
    if metric in known:
        names = planned.filter(scope=scope, metric=metric)["name"].unique(maintain_order=True).to_list()
        return f"there is no value of this name; there are {', '.join(names)}"
    return f"nothing was measured by this name; of {scope} there are {', '.join(known) or 'no metrics'}"


def _conditions(summary: pl.DataFrame, expectation: Expectation, *, runs_only: bool) -> Iterator[pl.Expr]:
    """The where-clause as filters; `runs_only` leaves out the name, which selects rows within a run."""
    for key, value in expectation.where.items():
        if key == "name":
            if not runs_only:
                yield pl.col("name") == str(value)
        elif key not in summary.columns:
            yield pl.lit(False)
        else:
            yield _equals(summary.schema[key], key, value)


def _equals(kind: pl.DataType, column: str, value: str | int | float | bool) -> pl.Expr:
    """Whether a column has the value, be it kept as what it was or as text."""
    if kind == pl.String:
        return pl.col(column) == axis_text(value)
    comparable = isinstance(value, bool) if kind == pl.Boolean else isinstance(value, int | float)
    return pl.col(column) == value if comparable else pl.lit(False)
