"""The judgement of candidates: robust scores under common seeds, and `compare`'s statistics over all pairs at once.

The finalists' runs are new: none of their seeds took part in choosing them. All pairs are tested together by the
step-down maxT procedure that `compare` uses, so that the probability of any wrong claim about the best one against the
others is at most 5 %. (Holm's correction is a special case that assumes the worst dependence; it would need more seeds
for the same, see docs/compare.md.)
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from netwarp.advise.criteria import MIN_EFFECT, Limit, score
from netwarp.advise.environment import Environment
from netwarp.advise.situations import AS_DESCRIBED, Situation
from netwarp.advise.trial import Trial
from netwarp.stats.effect_size import Shift, needed_runs, paired_shift
from netwarp.stats.permutation import ALPHA, paired_p_values

Numbers = NDArray[np.float64]


class Standing(StrEnum):
    """The relation of one candidate to another."""

    BETTER = "better"
    WORSE = "worse"
    SAME = "the same"
    CLOSE = "too close to call"


@dataclass(frozen=True)
class Difference:
    """The score of one candidate against another's: ratio − 1 in percent with its interval, and its meaning.

    `needed` is the approximate number of seeds that would settle a difference that is too close to call; None if
    unknown.
    """

    one: str
    other: str
    percent: float
    low: float
    high: float
    confidence: float
    p: float
    standing: Standing
    needed: int | None

    @property
    def reversed(self) -> "Difference":
        """The same difference, from the other candidate's view."""
        turned = {Standing.BETTER: Standing.WORSE, Standing.WORSE: Standing.BETTER}
        low, high = _inverse(self.high), _inverse(self.low)
        standing = turned.get(self.standing, self.standing)
        return Difference(
            self.other, self.one, _inverse(self.percent), low, high, self.confidence, self.p, standing, self.needed
        )


def _inverse(percent: float) -> float:
    return 100 * (1 / (1 + percent / 100) - 1) if percent > -100 else math.inf


def robust_scores(
    trial: Trial,
    names: Sequence[str],
    situations: Sequence[Situation],
    environment: Environment,
    weights: Mapping[str, float],
) -> dict[str, dict[int, float]]:
    """The weighted mean of each candidate's scores over the situations, by seed; a seed with a missing run has none."""
    found: dict[str, dict[int, float]] = {}
    total = sum(one.weight for one in situations)
    for name in names:
        by_seed: dict[int, list[float]] = {}
        for situation in situations:
            for seed, values in trial.seeds(name, situation.name).items():
                part = situation.weight * score(values, environment, weights) / total
                by_seed.setdefault(seed, []).append(part)
        found[name] = {seed: sum(parts) for seed, parts in by_seed.items() if len(parts) == len(situations)}
    return found


def central_score(scores: Mapping[int, float]) -> float:
    """The median of all averages of two seeds' scores (Hodges and Lehmann), as for differences; −∞ if there are none.

    With a mean, one seed in hundreds in which two flows share a bucket of a fair queue would decide.
    """
    return paired_shift(np.array(list(scores.values()))).estimate if scores else -math.inf


def differences(scores: Mapping[str, Mapping[int, float]]) -> dict[tuple[str, str], Difference]:
    """Compare every pair of candidates, in both orders."""
    seeds = sorted({seed for one in scores.values() for seed in one})
    pairs = [(a, b) for a, b in combinations(scores, 2) if set(scores[a]) & set(scores[b])]
    if not pairs or not seeds:
        return {}
    matrix = np.array(
        [[scores[a].get(seed, math.nan) - scores[b].get(seed, math.nan) for a, b in pairs] for seed in seeds]
    )
    p_values = paired_p_values(matrix, np.full(len(pairs), MIN_EFFECT))
    found: dict[tuple[str, str], Difference] = {}
    for at, (a, b) in enumerate(pairs):
        column = matrix[:, at]
        shift = paired_shift(column[~np.isnan(column)])
        one = _difference(a, b, shift, float(p_values[at]), len(pairs))
        found[a, b], found[b, a] = one, one.reversed
    return found


def _difference(a: str, b: str, shift: Shift, p: float, pairs: int) -> Difference:
    standing = Standing.CLOSE
    if p < ALPHA and abs(shift.estimate) >= MIN_EFFECT:
        standing = Standing.BETTER if shift.estimate > 0 else Standing.WORSE
    elif shift.low >= -MIN_EFFECT and shift.high <= MIN_EFFECT and shift.confidence >= 1 - ALPHA:
        standing = Standing.SAME
    needed = needed_runs(shift, MIN_EFFECT, ALPHA / pairs) if standing is Standing.CLOSE else None
    low, high = percent_of(shift.low), percent_of(shift.high)
    return Difference(a, b, percent_of(shift.estimate), low, high, shift.confidence, p, standing, needed)


def percent_of(difference: float) -> float:
    """A difference of scores as a ratio, in percent above or below 1."""
    return 100 * math.expm1(difference)


@dataclass(frozen=True)
class LimitCheck:
    """A limit in the environment as described: the median over seeds, and the number of seeds that break it."""

    limit: Limit
    median: float | None
    broken: int
    seeds: int

    @property
    def violation(self) -> float:
        """See `Limit.violation`."""
        return self.limit.violation(self.median)

    @property
    def met(self) -> bool:
        """Whether the median keeps the limit."""
        return self.violation <= 0


def check(trial: Trial, name: str, limits: Sequence[Limit], environment: Environment) -> list[LimitCheck]:
    """Check each limit against a candidate's runs in the environment as described."""
    runs = trial.seeds(name, AS_DESCRIBED)
    found = []
    for limit in limits:
        values = [limit.measure.of(one, environment) for one in runs.values()]
        known = sorted(value for value in values if value is not None)
        median = float(np.median(known)) if known and len(known) == len(values) else None
        found.append(LimitCheck(limit, median, sum(limit.violation(one) > 0 for one in values), len(values)))
    return found


@dataclass(frozen=True)
class Effect:
    """One measure of a candidate and of the present configuration: medians over the seeds, shift with its interval."""

    measure: str
    words: str
    unit: str
    higher: bool
    now: float
    then: float
    shift: float
    low: float
    high: float
    confidence: float

    @property
    def gain(self) -> bool | None:
        """Whether it is a gain; None if the interval holds 0."""
        if self.low <= 0 <= self.high:
            return None
        return (self.shift > 0) == self.higher
