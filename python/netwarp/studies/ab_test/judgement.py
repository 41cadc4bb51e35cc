"""The analysis of an experiment: its arms, the difference between them, and possible faults of either."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import polars as pl

from netwarp.store.errors import SelectionError
from netwarp.studies.ab_test.assignment import arm_of, assigned
from netwarp.studies.ab_test.clusters import (
    MIN_UNITS,
    Difference,
    Spread,
    difference,
    mismatch_p,
    spread_given,
    spread_of,
)
from netwarp.studies.ab_test.experiment import Experiment
from netwarp.studies.ab_test.recordings import Connections

MISMATCH = 0.001
"""The p-value below which the counts of hosts contradict the shares, small because the test is repeated at each
look."""
_SAME = 1e-9
"""A relative spread below which values differ only by rounding."""
_FAR = 1e6
"""The greatest ratio of the effect and the spread to the baseline's mean, and of the mean to one unit: real metrics
stay below it, and numbers of hosts would be beyond a float64."""
SALTS = 1000
"""The salts by which the A/A check assigns the baseline's hosts."""


@dataclass(frozen=True)
class Arm:
    """An arm as measured: each unit's mean and its number of connections, and how many connections have the arm's
    congestion control."""

    name: str
    units: Mapping[str, float]
    counts: Mapping[str, int]
    complying: int

    @property
    def connections(self) -> int:
        """The number of all connections."""
        return sum(self.counts.values())

    @property
    def mean(self) -> float:
        """The mean over units."""
        return fmean(self.units.values())


@dataclass(frozen=True)
class Analysis:
    """Both arms and the difference, the p-value of the counts of units, the units without a measured connection, and
    those of the arms that the experiment does not list."""

    control: Arm
    treated: Arm
    found: Difference
    mismatch: float
    missing: Mapping[str, Sequence[str]]
    unlisted: Sequence[str]

    @property
    def mismatched(self) -> bool:
        """Whether the counts of units contradict the shares, so that the arms cannot be compared."""
        return self.mismatch < MISMATCH


def analyse(experiment: Experiment, connections: Connections) -> Analysis:
    """Compare the arms. Raises SelectionError if one has fewer than two measured units, or none differ."""
    means = unit_means(connections)
    arms = {name: _arm(experiment, name, means, connections.table) for name in experiment.arms}
    control, treated = arms[experiment.control], arms[experiment.treatment]
    for arm in (control, treated):
        if len(arm.units) < MIN_UNITS:
            raise SelectionError(
                f"the arm {arm.name} has {len(arm.units)} measured {experiment.unit}s of {len(means)}, and a "
                f"difference needs {MIN_UNITS} in each arm; record more"
            )
    found = difference(list(control.units.values()), list(treated.units.values()))
    if found.error <= _SAME * max(map(abs, means.values())):
        raise SelectionError(
            f"all {experiment.unit}s of each arm have the same {experiment.measured.title}, so no difference can be "
            "distinguished from chance; choose a metric that varies"
        )
    shares = (experiment.arms[control.name].share, experiment.arms[treated.name].share)
    missing: dict[str, list[str]] = {name: [] for name in experiment.arms}
    for unit, name in assigned(experiment, experiment.units).items():
        if unit not in means:
            missing[name].append(unit)
    return Analysis(
        control,
        treated,
        found,
        mismatch_p(len(control.units), len(treated.units), shares),
        missing,
        [unit for unit in (*control.units, *treated.units) if unit not in experiment.units] if experiment.units else [],
    )


def unit_means(connections: Connections) -> dict[str, float]:
    """The mean over its connections of each unit, by name."""
    rows = connections.table.group_by("unit").agg(pl.col("value").mean()).sort("unit", maintain_order=True)
    return dict(rows.iter_rows())


def _arm(experiment: Experiment, name: str, means: Mapping[str, float], table: pl.DataFrame) -> Arm:
    units = {unit: mean for unit, mean in means.items() if arm_of(experiment, unit) == name}
    mine = table.filter(pl.col("unit").is_in(list(units)))
    counts = dict(mine.group_by("unit", maintain_order=True).len().iter_rows())
    return Arm(name, units, counts, mine.filter(control=experiment.arms[name].cc).height)


def spread(experiment: Experiment, baseline: Connections | None) -> Spread:
    """The spread before the experiment, from its recordings or from the given numbers.

    Raises SelectionError if recordings do not suffice, or no experiment can be planned by them.
    """
    if baseline is None:
        found = _given(experiment)
    else:
        groups = (
            baseline.table.sort("unit", maintain_order=True)
            .group_by("unit", maintain_order=True)
            .agg("value")["value"]
            .to_list()
        )
        try:
            found = spread_of(groups)
        except ValueError as error:
            raise SelectionError(f"the baseline's recordings do not suffice: {error}") from None
    if found.unit_sd <= _SAME * abs(found.mean) or experiment.effect_size(found.mean) <= 0:
        raise SelectionError(
            f"the baseline's {experiment.measured.title} has the mean {found.mean:g} and the standard deviation "
            f"{found.unit_sd:g} over {experiment.unit}s, by which no experiment can be planned; both must be more than "
            "0 (record longer, or choose another metric)"
        )
    effect = experiment.effect_size(found.mean)
    for name, value, low, high in (
        ("the baseline's mean", found.mean, 1 / _FAR, _FAR),
        ("the effect", effect, found.mean / _FAR, found.mean * _FAR),
        ("the standard deviation of a mean", found.unit_sd, 0, found.mean * _FAR),
    ):
        if not low <= value <= high:
            raise SelectionError(
                f"{name} is {value:g} {experiment.measured.unit}, and no experiment can be planned by it; it must be "
                f"from {low:g} to {high:g} (check effect and the baseline)"
            )
    return found


def _given(experiment: Experiment) -> Spread:
    given = experiment.baseline
    if given.mean is None or given.sd is None or given.icc is None or given.connections is None:
        raise AssertionError("an experiment has recordings or all four numbers")
    return spread_given(given.mean, given.sd, given.icc, given.connections)


@dataclass(frozen=True)
class Sameness:
    """The A/A check: the baseline's difference between the arms, before they differ; and the share of other salts that
    show one with p < α, which is α if hosts are exchangeable."""

    found: Difference
    alarms: float


def aa_check(experiment: Experiment, baseline: Connections) -> Sameness | None:
    """Compare the arms on the baseline; None if the salt gives an arm fewer than two of its units."""
    means = unit_means(baseline)

    def compared(salt: str) -> Difference | None:
        arms = {unit: arm_of(experiment, unit, salt) for unit in means}
        sides = [[means[unit] for unit, arm in arms.items() if arm == name] for name in experiment.arms]
        return difference(*sides) if min(map(len, sides)) >= MIN_UNITS else None

    found = compared(experiment.salt)
    others = [other for number in range(SALTS) if (other := compared(f"{experiment.salt}/{number}"))]
    if found is None or not others:
        return None
    return Sameness(found, sum(other.p < experiment.alpha for other in others) / len(others))
