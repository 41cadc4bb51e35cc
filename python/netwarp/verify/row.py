"""A row of the validation: a reference's claim, the experiment that measures it, and the tolerance.

A row's tolerance is stated with its reason before anything is measured; it is never widened to pass.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from shutil import which

from netwarp.store.rundir import RunDir

Measure = Callable[[RunDir], Mapping[str, float]]
"""The values that one run measures, by their label; a label is absent if the run did not measure it."""


class Verdict(StrEnum):
    """The result of comparing a row with its reference."""

    AGREES = "agrees"
    EXPLAINED = "explained"
    """Outside the tolerance, but in the range that the row's explanation predicts."""
    MISSES = "misses"
    FAILED = "failed"
    """The experiment failed, or did not measure a value."""
    WAITS = "waits"
    """Netwarp cannot measure it yet; the row names what is missing."""
    UNJUDGED = "not judged"
    """The row does not apply to this kernel or to noise, or needs a program that is not installed."""


JUDGED = (Verdict.AGREES, Verdict.EXPLAINED, Verdict.MISSES)
"""The verdicts that compare a measured value with the reference."""


class Size(StrEnum):
    """How long the rows of a size take on two CPUs: 2 minutes, 15 minutes, or longer."""

    QUICK = "quick"
    USUAL = "usual"
    COMPLETE = "complete"


@dataclass(frozen=True)
class Experiment:
    """The scenario that measures a row. Rows with the same experiment share its runs.

    `text` is a scenario file; if it is empty, `name` is a shipped scenario. `settings` are as those of `--set`.
    `given` are texts of it that the user typed.
    """

    name: str
    text: str = ""
    settings: tuple[str, ...] = ()
    given: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Range:
    """The tolerance of a measured value, `below` and `above` its reference, and `why` it is that wide.

    Shares of the reference if `relative`, else in the row's unit.
    """

    below: float
    above: float
    why: str
    relative: bool = False

    def ends(self, expected: float) -> tuple[float, float]:
        """How far below and above an expected value the range reaches, in its unit."""
        scale = abs(expected) if self.relative else 1.0
        return self.below * scale, self.above * scale

    def holds(self, expected: float, measured: float) -> bool:
        """Whether a measured value is in the range around the expected one, ends included."""
        below, above = self.ends(expected)
        return -below <= measured - expected <= above


def within(width: float, why: str) -> Range:
    """The range of the same width on both sides, in the row's unit."""
    return Range(width, width, why)


def share(width: float, why: str) -> Range:
    """The range of the same share of the reference on both sides."""
    return Range(width, width, why, relative=True)


@dataclass(frozen=True)
class Need:
    """A program that a measurement runs and netwarp does not include, by its name."""

    name: str
    is_installed: Callable[[], bool]


def program(name: str) -> Need:
    """A program on PATH."""
    return Need(name, lambda: which(name) is not None)


@dataclass(frozen=True)
class Row:
    """A reference and its measurement.

    `claim` is the reference's statement, in a sentence; `source` its place; `expected` its values by label, in `unit`.
    `explained` is the range that another cause, which it names, predicts. `waits` names a feature that netwarp lacks;
    such a row has no experiment. The row applies to Linux from `since` on and `before` another series, each such as
    "6.5"; to every series if empty. `phases` says why the values depend on exact times, so that noise changes them;
    empty if they do not. `needs` is the program that the measurement runs beside netwarp.
    """

    name: str
    claim: str
    source: str
    unit: str
    expected: Mapping[str, float]
    tolerance: Range
    experiment: Experiment | None = None
    measure: Measure | None = None
    explained: Range | None = None
    size: Size = Size.QUICK
    waits: str = ""
    since: str = ""
    before: str = ""
    phases: str = ""
    needs: Need | None = None

    @property
    def kernels(self) -> str:
        """The series of Linux that the row applies to, in words."""
        ends = [f"from {self.since} on"] if self.since else []
        ends += [f"before {self.before}"] if self.before else []
        return f"Linux {', '.join(ends)}" if ends else "every series"


@dataclass(frozen=True)
class Family:
    """Rows about one subject, which share a file."""

    title: str
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Value:
    """One of a row's values: the expected one, and those that the runs measured, ordered by seed (empty: none)."""

    label: str
    expected: float
    measured: tuple[float, ...]


@dataclass(frozen=True)
class Checked:
    """A row with its verdict. `reason` says why it failed, waits or is not judged."""

    row: Row
    values: tuple[Value, ...]
    verdict: Verdict
    reason: str = ""


def judge(row: Row, runs: Sequence[Mapping[str, float]], failed: str = "") -> Checked:
    """The verdict on a row from the values of its runs. Each seed's value counts, not their mean.

    `failed` is why a run failed.
    """
    if row.waits:
        return Checked(row, (), Verdict.WAITS, row.waits)
    values = tuple(
        Value(label, expected, tuple(run[label] for run in runs if label in run))
        for label, expected in row.expected.items()
    )
    if failed:
        return Checked(row, values, Verdict.FAILED, failed)
    if missing := [value.label for value in values if not value.measured]:
        return Checked(row, values, Verdict.FAILED, f"not measured: {', '.join(missing)}")
    for verdict, allowed in ((Verdict.AGREES, row.tolerance), (Verdict.EXPLAINED, row.explained)):
        if allowed and all(allowed.holds(value.expected, one) for value in values for one in value.measured):
            return Checked(row, values, verdict)
    return Checked(row, values, Verdict.MISSES)
