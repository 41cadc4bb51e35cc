"""How often statistics over seeds are wrong, by simulation: false alarms, and intervals that miss.

The true values are known here: values of a normal, an exponential and a skewed lognormal distribution take the place of
those of seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import exp
from pathlib import Path

import numpy as np
from netwarp.analysis.summary.expectations import SURE
from netwarp.stats.effect_size import paired_shift, unpaired_shift
from netwarp.stats.intervals import Interval, mean_interval, robust_interval, skewed_confidence
from netwarp.stats.permutation import ALPHA, Numbers, paired_p_values, unpaired_p_values

from bench.row import Row, measure

Draw = Callable[[np.random.Generator, tuple[int, ...]], Numbers]
DISTRIBUTIONS: dict[str, tuple[float, Draw]] = {
    "normal": (10.0, lambda random, shape: random.normal(10, 1, shape)),
    "exponential": (1.0, lambda random, shape: random.exponential(1, shape)),
    "lognormal": (exp(0.5), lambda random, shape: random.lognormal(0, 1, shape)),
}
"""Distributions by name: the mean of a value, and a function that draws values."""
SEEDS = (3, 6, 20)
METRICS = 10
"""Number of metrics compared at once; half of each one's variation is common to all."""
_TRIALS, _TESTS = 20_000, 1_000
_SHIFT = 1.0


def interval_misses(
    name: str, seeds: int, trials: int, interval: Callable[[list[float], float], Interval] = robust_interval
) -> float:
    """The share of trials in which `within = "interval"`, or another interval, misses the true mean."""
    mean, draw = DISTRIBUTIONS[name]
    values = draw(np.random.default_rng([1, seeds]), (trials, seeds))
    return sum(not interval(one, SURE).holds(mean) for one in values.tolist()) / trials


def interval_claim(name: str, seeds: int) -> float:
    """The share of misses that it claims as the maximum for such values."""
    return 1 - (SURE if name == "normal" else skewed_confidence(seeds, SURE))


def false_alarms(name: str, seeds: int, trials: int, *, paired: bool) -> float:
    """The share of comparisons of equal sides that call any of their metrics different."""
    random = np.random.default_rng([1, seeds, paired])
    least, alarms = np.zeros(METRICS), 0
    for _ in range(trials):
        one, other = (_correlated(name, random, seeds) for _ in "ab")
        found = paired_p_values(other - one, least) if paired else unpaired_p_values(one, other, least)
        alarms += bool((found < ALPHA).any())
    return alarms / trials


def shift_coverage(name: str, seeds: int, trials: int, *, paired: bool) -> tuple[float, float]:
    """The share of intervals that contain a difference that is the same for all seeds, and the claimed share."""
    _, draw = DISTRIBUTIONS[name]
    random = np.random.default_rng([1, seeds, paired, 2])
    held, claimed = 0, 0.0
    for _ in range(trials):
        one, other = draw(random, (seeds,)), draw(random, (seeds,)) + _SHIFT
        shift = paired_shift(other - one) if paired else unpaired_shift(one, other)
        held += shift.low <= _SHIFT <= shift.high
        claimed = shift.confidence
    return held / trials, claimed


def _correlated(name: str, random: np.random.Generator, seeds: int) -> Numbers:
    _, draw = DISTRIBUTIONS[name]
    return draw(random, (seeds, METRICS)) + draw(random, (seeds, 1))


@measure
def inference(_: Path) -> Iterator[Row]:
    """Simulate the table of docs/statistics.md."""
    for name in DISTRIBUTIONS:
        for seeds in SEEDS:
            what = f"{name}, {seeds} seeds"
            missed, claim = interval_misses(name, seeds, _TRIALS), interval_claim(name, seeds)
            yield Row(f'within = "interval" refuses a right value: {what}', 1000 * missed, 1000 * claim, "‰")
            missed = interval_misses(name, seeds, _TRIALS, mean_interval)
            yield Row(f"Student's interval alone would: {what}", 1000 * missed, None, "‰")
            for paired in (True, False):
                how = f"compare, {'pairs' if paired else 'no pairs'}"
                alarms = false_alarms(name, seeds, _TESTS, paired=paired)
                yield Row(f"{how}, any false alarm: {what}", 100 * alarms, 100 * ALPHA, "%")
                held, claimed = shift_coverage(name, seeds, _TRIALS // 4, paired=paired)
                text = f"{how}, interval holds the difference: {what}"
                yield Row(text, 100 * held, 100 * claimed, "%", more_is_better=True)
