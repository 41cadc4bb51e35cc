"""The mean over replicates and its interval: the seeds of a point are independent, with any distribution."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import comb, sqrt
from statistics import NormalDist, fmean, stdev

from netwarp.stats.beta import beta_quantile, student_quantile

CONFIDENCE = 0.95
SKEW = 0.7
"""The greatest share of values on one side of a mean that `robust_interval` allows for: of normal values it is 0.5, of
exponential ones 0.632, of lognormal ones whose logarithms have a standard deviation of 1 it is 0.691."""


@dataclass(frozen=True)
class Interval:
    """A mean with the confidence interval `low` to `high`, which are None for a single value."""

    mean: float
    low: float | None = None
    high: float | None = None

    def holds(self, value: float) -> bool:
        """Whether the interval contains the value; False without an interval."""
        return self.low is not None and self.high is not None and self.low <= value <= self.high


def mean_interval(values: Sequence[float], confidence: float = CONFIDENCE) -> Interval:
    """The mean of independent values of one kind and its interval, mean ± t(n−1) s / √n (Law 2015, 4.5).

    Values over time within one run are not independent (a queue has memory), so they do not show its error; take one
    value from each seed. Raises ValueError without values.
    """
    mean = fmean(values)
    if len(values) < 2:
        return Interval(mean)
    if min(values) == max(values):  # a mean of equal values may differ from them in its last digit
        return Interval(values[0], values[0], values[0])
    half = student_quantile(len(values) - 1, (1 + confidence) / 2) * stdev(values) / sqrt(len(values))
    return Interval(mean, mean - half, mean + half)


def robust_interval(values: Sequence[float], confidence: float) -> Interval:
    """The mean of independent values and an interval that contains it for normal and for skewed distributions.

    It is Student's, widened to the k-th lowest and the k-th highest value if these are outside. Those two enclose every
    quantile from 30 % to 70 % of any distribution, and so its mean if that is one of these; `skewed_confidence` is the
    probability. No interval of few values contains the mean of every distribution (R. R. Bahadur, L. J. Savage: Annals
    of Mathematical Statistics 27, 1956). With any number of values, the interval does not become narrower than from the
    30 % to the 70 % quantile. Raises ValueError without values.
    """
    student = mean_interval(values, confidence)
    if student.low is None or student.high is None:
        return student
    ordered, rank = sorted(values), _skewed_rank(len(values), confidence)
    return Interval(student.mean, min(student.low, ordered[rank - 1]), max(student.high, ordered[-rank]))


def skewed_confidence(count: int, confidence: float) -> float:
    """The confidence of `robust_interval` for `count` skewed values; `confidence` is that for normal ones."""
    return min(_covered(count, _skewed_rank(count, confidence)), confidence)


@lru_cache(maxsize=1024)
def _skewed_rank(count: int, confidence: float) -> int:
    """The greatest k for which the k-th lowest and highest values enclose such a quantile with `confidence`; else 1."""
    rank = 1
    while 2 * (rank + 1) <= count and _covered(count, rank + 1) >= confidence:
        rank += 1
    return rank


@lru_cache(maxsize=1024)
def _covered(count: int, rank: int) -> float:
    """The probability that the `rank`-th lowest and highest of `count` values enclose the outermost quantile, SKEW."""
    outside = (below for below in range(count + 1) if below < rank or below > count - rank)
    return 1 - sum(comb(count, below) * SKEW**below * (1 - SKEW) ** (count - below) for below in outside)


def share_interval(held: int, count: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """The interval of a probability after `held` successes in `count` independent trials (Clopper and Pearson 1934)."""
    tail = (1 - confidence) / 2
    low = beta_quantile(held, count - held + 1, tail) if held else 0.0
    high = beta_quantile(held + 1, count - held, 1 - tail) if held < count else 1.0
    return low, high


def normal_interval(mean: float, deviation: float, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """The interval of a normal variable of this mean and standard deviation."""
    half = NormalDist().inv_cdf((1 + confidence) / 2) * deviation
    return mean - half, mean + half
