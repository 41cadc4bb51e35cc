"""Order statistics of all sums of two numbers, as sorting all of them yields them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from netwarp.stats import effect_size, pairs
from netwarp.stats.effect_size import paired_shift, unpaired_shift
from netwarp.stats.pairs import Numbers, sums_at

Draw = Callable[[np.random.Generator, int], Numbers]
KINDS: dict[str, Draw] = {
    "smooth": lambda random, n: random.normal(0, 1, n),
    "few values": lambda random, n: random.integers(0, 3, n).astype(float),
    "one value": lambda _, n: np.full(n, 7.0),
    "outliers": lambda random, n: random.standard_cauchy(n) * 1e300,
    "neighbours": lambda random, n: 1 + random.integers(0, 3, n).astype(float) * 2.0**-52,
    "the smallest": lambda random, n: 5e-324 * random.integers(0, 3, n).astype(float),
    "too large to add": lambda random, n: random.choice([1e308, -1e308, 0.0], n),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("ignore:overflow")
def test_they_are_those_of_all_sums_sorted(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairs, "_FEW", 8)
    random = np.random.default_rng(1)
    for _ in range(10):
        n, m = random.integers(1, 14, 2)
        one, other = KINDS[kind](random, n), np.sort(KINDS[kind](random, m))
        every = np.sort(np.add.outer(one, other), axis=None)
        assert sums_at(list(range(n * m)), one, other, np.zeros(n, np.intp)) == every.tolist()
        half = np.sort(np.add.outer(other, other)[np.triu_indices(m)])
        assert sums_at(list(range(len(half))), other, other, np.arange(m)) == half.tolist()


@pytest.mark.parametrize("n", [40, 700])
def test_a_shift_is_that_of_all_pairs(n: int) -> None:
    random = np.random.default_rng(n)
    one, other = random.normal(0, 1, n), random.exponential(2, n + 1)
    rank, _ = effect_size._rank_sum(n, n + 1)
    every = np.sort(np.subtract.outer(other, one), axis=None)
    shift = unpaired_shift(one, other)
    assert (shift.estimate, shift.low, shift.high) == (np.median(every), every[rank - 1], every[-rank])
    rank, _ = effect_size._signed_rank(n)
    averages = np.sort(np.add.outer(one, one)[np.triu_indices(n)] / 2)
    shift = paired_shift(one)
    assert (shift.estimate, shift.low, shift.high) == (np.median(averages), averages[rank - 1], averages[-rank])


def test_the_ranks_of_many_pairs_continue_the_exact_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """From the first number on for which they are approximate: two of 20,000 ranks apart."""
    n = effect_size._EXACT_SIGNS + 1
    approximate, confidence = effect_size._signed_rank(n)
    monkeypatch.setattr(effect_size, "_EXACT_SIGNS", n)
    exact, covered = effect_size._signed_rank.__wrapped__(n)
    assert confidence == pytest.approx(covered, abs=1e-4)
    assert 0 <= exact - approximate <= 2


def test_ten_thousand_runs_are_compared_in_seconds() -> None:
    random = np.random.default_rng(1)
    shift = paired_shift(random.normal(3, 1, 10_000))
    assert shift.low < 3 < shift.high < shift.low + 0.1
