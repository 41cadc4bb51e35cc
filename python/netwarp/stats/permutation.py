"""A joint permutation test of many differences, with a familywise error rate of 5 %.

A comparison has dozens of metrics at every point of a sweep, and these depend on each other: mean, median and 95th
percentile of one RTT are nearly one value. The step-down maxT procedure (Westfall and Young 1993, algorithm 4.1; Romano
and Wolf 2005) permutes whole seeds, which preserves the dependence: every difference is compared with the greatest one
that chance alone yields anywhere. Bonferroni's and Holm's corrections assume the worst dependence, and would need more
runs the more metrics there are.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations, islice
from math import comb

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

ALPHA = 0.05
RELABELLINGS = 5_000
_CHUNK = 512
_SEED = 1
_RESOLUTION = 0.1
_TIE = 1 - 1e-9


def paired_p_values(differences: Numbers, least: Numbers) -> Numbers:
    """Adjusted p-values of columns of differences, with a row for each seed, NaN if a seed has no value.

    If both sides were alike, all of a seed's differences could have the other sign: all 2^n ways are tried for up to 13
    seeds, else 5,000 random ones (Phipson and Smyth 2010), which are always the same. The statistic is Student's t;
    `least` are the differences that matter, see `_studentised`.
    """
    there = ~np.isnan(differences)
    values = np.where(there, differences, 0.0)
    counts = there.sum(axis=0)
    squares = (values**2).sum(axis=0)

    def statistic(signs: Numbers) -> Numbers:
        means = _product(signs, values) / np.maximum(counts, 1)
        spread = np.maximum(squares - counts * means**2, 0) / np.maximum(counts - 1, 1) / np.maximum(counts, 1)
        return _studentised(means, spread, least)

    return _step_down(statistic, _signs(len(differences)))


def unpaired_p_values(one: Numbers, other: Numbers, least: Numbers) -> Numbers:
    """Adjusted p-values of the columns of two samples, with a row for each run, NaN if a run has no value.

    If both sides were alike, any run could belong to the other side: all ways to divide them are tried if they are at
    most 5,000, else that many random ones. The statistic is Welch's t, with which the test of means is valid for
    unequal spreads (Janssen 1997).
    """
    pooled = np.concatenate([one, other])
    there = ~np.isnan(pooled)
    values = np.where(there, pooled - np.nan_to_num(np.nanmean(pooled, axis=0)), 0.0)
    squares = values**2
    totals = there.sum(axis=0).astype(np.float64), values.sum(axis=0), squares.sum(axis=0)

    def statistic(shares: Numbers) -> Numbers:
        # If no value is missing, the counts on a side are the same for all columns.
        counts = shares.sum(axis=1, keepdims=True) if there.all() else _product(shares, there.astype(np.float64))
        first = _moments(counts, _product(shares, values), _product(shares, squares))
        second = _moments(*(total - part for total, part in zip(totals, first.parts, strict=True)))
        return _studentised(first.means - second.means, first.errors + second.errors, least)

    return _step_down(statistic, _shares(len(one), len(other)))


def fewest_paired() -> int:
    """The fewest pairs for a p-value below 5 %: the smallest possible one of n pairs is 1 in 2^(n − 1)."""
    return next(n for n in range(1, 64) if 1 / 2 ** (n - 1) < ALPHA)


def can_detect(one: int, other: int, *, paired: bool) -> bool:
    """Whether this many runs can have a p-value below 5 % at all."""
    if paired:
        return min(one, other) >= fewest_paired()
    ways = comb(one + other, one) / (2 if one == other else 1)
    return min(one, other) > 0 and 1 / ways < ALPHA


@dataclass(frozen=True)
class _Moments:
    """Moments of one side, a row for each relabelling: counts, sums, sums of squares; means and squared errors."""

    parts: tuple[Numbers, Numbers, Numbers]
    means: Numbers
    errors: Numbers


def _moments(counts: Numbers, sums: Numbers, squares: Numbers) -> _Moments:
    present = np.maximum(counts, 1)
    means = sums / present
    variance = np.maximum(squares - sums * means, 0) / np.maximum(counts - 1, 1)
    return _Moments((counts, sums, squares), means, variance / present)


def _product(rows: Numbers, columns: Numbers) -> Numbers:
    """The matrix product without BLAS, whose threads take longer to wake than such narrow products take."""
    product: Numbers = np.einsum("pn,nk->pk", rows, columns)
    return product


def _studentised(means: Numbers, squared_errors: Numbers, least: Numbers) -> Numbers:
    """The absolute mean in standard errors, which count as at least a tenth of the least difference that matters.

    Otherwise a counter that hardly varies would make a negligible difference infinitely significant, and hide others.
    """
    errors = np.maximum(np.sqrt(squared_errors), _RESOLUTION * least)
    return np.abs(np.divide(means, errors, out=np.zeros_like(means), where=errors > 0))


def _step_down(statistic: Callable[[Numbers], Numbers], relabellings: Iterator[Numbers]) -> Numbers:
    """Westfall and Young's adjusted p-values; the first relabelling is the observed one."""
    observed: Numbers = np.empty(0)
    order = np.empty(0, np.intp)
    reached, total = np.empty(0), 0
    for chunk in relabellings:
        found = statistic(chunk)
        if not total:
            observed = found[0]
            order = np.argsort(observed, kind="stable")  # ascending
            reached = np.zeros(len(observed))
        greatest = np.maximum.accumulate(found[:, order], axis=1)
        reached += (greatest >= observed[order] * _TIE).sum(axis=0)
        total += len(chunk)
    adjusted = np.empty(len(observed))
    adjusted[order] = np.maximum.accumulate((reached / total)[::-1])[::-1]
    return adjusted


def _signs(n: int) -> Iterator[Numbers]:
    """Rows of signs, the first all +. The first seed keeps its sign, since a row and its opposite are equivalent."""
    free = max(n - 1, 0)
    if 2**free <= RELABELLINGS:
        bits = (np.arange(2**free)[:, None] >> np.arange(free)) & 1
    else:
        bits = np.random.default_rng(_SEED).integers(0, 2, (RELABELLINGS, free))
        bits[0] = 0
    signs = np.concatenate([np.ones((len(bits), min(n, 1))), 1.0 - 2.0 * bits], axis=1)
    yield from (signs[at : at + _CHUNK] for at in range(0, len(signs), _CHUNK))


def _shares(one: int, other: int) -> Iterator[Numbers]:
    """Rows with 1 for each run of the first side; the first row is the observed one."""
    total = one + other
    if comb(total, one) <= RELABELLINGS:
        ways = combinations(range(total), one)
        while chosen := list(islice(ways, _CHUNK)):
            rows = np.zeros((len(chosen), total))
            rows[np.arange(len(chosen))[:, None], np.array(chosen, np.intp).reshape(len(chosen), one)] = 1
            yield rows
        return
    random = np.random.default_rng(_SEED)
    observed = np.concatenate([np.ones(one), np.zeros(other)])
    for at in range(0, RELABELLINGS, _CHUNK):
        rows = random.permuted(np.tile(observed, (min(_CHUNK, RELABELLINGS - at), 1)), axis=1)
        if at == 0:
            rows[0] = observed
        yield rows
