"""The shift between two samples of few values: the Hodges–Lehmann estimate and its exact interval.

Paired values (the same seed on both sides) are compared within their pairs, others each with each. Neither assumes a
distribution: intervals come from ranks (Hodges and Lehmann 1963; Hollander, Wolfe, Chicken 2014, 3.3 and 4.3).
"""

from dataclasses import dataclass
from functools import lru_cache
from math import ceil, sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from netwarp.stats.pairs import sums_at
from netwarp.stats.statistics import CONFIDENCE, MIN_COUNT

Numbers = NDArray[np.float64]
_EXACT_PAIRS = 1000
_EXACT_SIGNS = 300
"""The most differences whose signed ranks are counted, which takes time with the cube of their number."""
_POWER = 0.8
_MAX = 1e6


@dataclass(frozen=True)
class Shift:
    """An estimate, the interval [low, high] that contains the true shift with `confidence`, and the spread.

    `sd` is that of one replicate's difference; NaN for a single replicate.
    """

    estimate: float
    low: float
    high: float
    confidence: float
    sd: float


def paired_shift(differences: Numbers) -> Shift:
    """The median of all averages of two differences (also of each with itself), of at least one difference."""
    n = len(differences)
    ordered = np.sort(differences)
    rank, confidence = _signed_rank(n)
    sd = float(differences.std(ddof=1)) if n > 1 else float("nan")
    estimate, low, high = _ends_of(ordered, ordered, np.arange(n), rank)
    return Shift(estimate / 2, low / 2, high / 2, confidence, sd)


def unpaired_shift(one: Numbers, other: Numbers) -> Shift:
    """The median of all differences of a value of `other` and one of `one`, each of at least one value."""
    rank, confidence = _rank_sum(*sorted((len(one), len(other))))
    several = len(one) > 1 and len(other) > 1
    sd = sqrt(one.var(ddof=1) + other.var(ddof=1)) if several else float("nan")
    return Shift(*_ends_of(-one, np.sort(other), np.zeros(len(one), np.intp), rank), confidence, sd)


def _ends_of(rows: Numbers, columns: Numbers, first: NDArray[np.intp], rank: int) -> tuple[float, float, float]:
    """The median of all sums (see `sums_at`), and the ones at this rank from below and from above."""
    count = len(rows) * len(columns) - int(first.sum())
    lower, upper, low, high = sums_at([(count - 1) // 2, count // 2, rank - 1, count - rank], rows, columns, first)
    return (lower + upper) / 2, low, high


@lru_cache(maxsize=512)
def _signed_rank(n: int) -> tuple[int, float]:
    """The rank of the interval's ends among the n(n + 1)/2 averages, and its confidence, by Wilcoxon's signed-rank
    distribution; for many pairs by its normal approximation (Hollander, Wolfe, Chicken 2014, 3.3, large samples)."""
    if n > _EXACT_SIGNS:
        return _of_many(n * (n + 1) / 2, n * (n + 1) * (2 * n + 1) / 24)
    chances = np.ones(1)
    for rank in range(1, n + 1):  # the sum of ranks 1 … n, each included with probability ½
        chances = (np.concatenate([chances, np.zeros(rank)]) + np.concatenate([np.zeros(rank), chances])) / 2
    return _ends(chances)


@lru_cache(maxsize=4096)
def _rank_sum(n: int, m: int) -> tuple[int, float]:
    """The rank of the interval's ends among the n × m differences, and its confidence, by Mann–Whitney's distribution.

    For many pairs the normal approximation is used (Hollander, Wolfe, Chicken 2014, 4.3, large samples).
    """
    if n * m > _EXACT_PAIRS:
        return _of_many(n * m, n * m * (n + m + 1) / 12)
    ways = [1] + [0] * (n * m)  # the Gaussian binomial coefficient, whose terms count the arrangements of each U
    for i in range(1, n + 1):
        for u in range(n * m, m + i - 1, -1):
            ways[u] -= ways[u - m - i]
        for u in range(i, n * m + 1):
            ways[u] += ways[u - i]
    return _ends(np.array([float(way) for way in ways]) / float(sum(ways)))


def _of_many(most: float, variance: float) -> tuple[int, float]:
    """The rank and the confidence by the normal approximation of a statistic from 0 to `most`."""
    return max(int(most / 2 - NormalDist().inv_cdf((1 + CONFIDENCE) / 2) * sqrt(variance)), 1), CONFIDENCE


def _ends(chances: Numbers) -> tuple[int, float]:
    """The greatest k with 1 − 2 P(statistic < k) ≥ 95 %, at least 1; and that probability."""
    below = np.cumsum(chances)
    rank = max(int(np.searchsorted(below, (1 - CONFIDENCE) / 2, side="right")), 1)
    return rank, float(1 - 2 * below[rank - 1])


def needed_runs(shift: Shift, least: float, alpha: float) -> int | None:
    """The approximate number of runs per side that would settle whether there is a difference that matters.

    If the estimate matters, a test at `alpha` finds such a difference with a power of 80 %; else the interval is within
    the differences that do not matter. It follows from the observed spread by the normal distribution (Cohen 1988), and
    is at least what any test needs. None if the spread of a single run is unknown, or the estimate is on the edge.
    """
    if np.isnan(shift.sd):
        return None
    size = abs(shift.estimate)
    normal = NormalDist()
    if size >= least:
        quantiles, room = normal.inv_cdf(1 - alpha / 2) + normal.inv_cdf(_POWER), size
    else:
        quantiles, room = normal.inv_cdf((1 + CONFIDENCE) / 2), least - size
    if room <= 0:
        return None
    return max(ceil(min((quantiles * shift.sd / room) ** 2, _MAX)), MIN_COUNT)
