"""Shifts between samples, their exact intervals, and the permutation test of many differences at once."""

from math import comb

import numpy as np
import pytest
from netwarp.stats.effect_size import needed_runs, paired_shift, unpaired_shift
from netwarp.stats.permutation import can_detect, fewest_paired, paired_p_values, unpaired_p_values

# Critical values of Wilcoxon's signed-rank and rank-sum tests, two-sided 5 %, as in any table of them.
SIGNED_RANK = {6: 0, 7: 2, 8: 3, 9: 5, 10: 8, 15: 25, 20: 52, 25: 89}
RANK_SUM = {(4, 4): 0, (5, 5): 2, (6, 6): 5, (5, 8): 6, (8, 8): 13, (10, 10): 23, (20, 20): 127}


@pytest.mark.parametrize(("n", "critical"), SIGNED_RANK.items())
def test_the_interval_of_pairs_ends_where_the_tables_say(n: int, critical: int) -> None:
    differences = np.random.default_rng(n).normal(1, 1, n)
    averages = sorted((x + y) / 2 for i, x in enumerate(differences) for y in differences[i:])
    shift = paired_shift(differences)
    assert shift.estimate == pytest.approx(np.median(averages))
    assert (shift.low, shift.high) == (averages[critical], averages[-1 - critical])
    assert shift.confidence >= 0.95


@pytest.mark.parametrize(("sizes", "critical"), RANK_SUM.items())
def test_the_interval_of_two_samples_ends_where_the_tables_say(sizes: tuple[int, int], critical: int) -> None:
    random = np.random.default_rng(sum(sizes))
    one, other = random.normal(0, 1, sizes[0]), random.normal(1, 2, sizes[1])
    differences = sorted(y - x for x in one for y in other)
    shift = unpaired_shift(one, other)
    assert shift.estimate == pytest.approx(np.median(differences))
    assert (shift.low, shift.high) == (differences[critical], differences[-1 - critical])


@pytest.mark.parametrize("n", range(1, 6))
def test_five_pairs_are_too_few(n: int) -> None:
    shift = paired_shift(np.arange(1.0, n + 1))
    assert (shift.low, shift.high) == (1, n)
    assert shift.confidence == 1 - 2 ** (1 - n) < 0.95
    assert paired_p_values(np.full((n, 1), 9.0), np.array([1.0]))[0] == 2 ** (1 - n)
    assert not can_detect(n, n, paired=True)


def test_six_pairs_suffice_for_any_number_of_metrics() -> None:
    random = np.random.default_rng(1)
    differences = random.normal(0, 1, (6, 200))
    differences[:, :10] += 50
    p_values = paired_p_values(differences, np.full(200, 0.5))
    assert fewest_paired() == 6
    assert p_values[:10].tolist() == [2**-5] * 10
    assert (p_values[10:] > 0.05).all()


@pytest.mark.slow
def test_one_metric_alone_has_the_p_value_of_the_plain_permutation_test() -> None:
    from scipy import stats  # type: ignore[import-untyped]  # takes a second

    random = np.random.default_rng(2)
    one, other = random.normal(0, 1, (7, 1)), random.normal(0.9, 1, (7, 1))

    def mean(x: np.ndarray, y: np.ndarray) -> float:
        return float(abs(x.mean() - y.mean()))

    wanted = stats.permutation_test((one[:, 0], other[:, 0]), mean, alternative="greater", n_resamples=comb(14, 7))
    assert unpaired_p_values(one, other, np.zeros(1))[0] == pytest.approx(wanted.pvalue)
    differences = (other - one)[:, 0]
    signs = stats.permutation_test(
        (differences,),
        lambda d: abs(d.mean()),
        permutation_type="samples",
        alternative="greater",
        n_resamples=2**7,
    )
    assert paired_p_values(differences[:, None], np.zeros(1))[0] == pytest.approx(signs.pvalue)


def _null(random: np.random.Generator, runs: int, metrics: int) -> np.ndarray:
    """Metrics of runs, heavy-tailed and skewed, that depend on each other, a fifth of them small counts."""
    values: np.ndarray = random.lognormal(0, 1, (runs, 1)) + random.standard_t(3, (runs, metrics))
    values[:, : metrics // 5] = np.round(values[:, : metrics // 5])
    return values


@pytest.mark.slow
@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize(("runs", "trials"), [(6, 400), (16, 60)])
def test_false_alarms_are_at_most_five_percent(runs: int, trials: int, paired: bool) -> None:
    """Nothing differs, 40 metrics: at most 5 % of comparisons claim any difference, within the deviation of the
    trials."""
    random = np.random.default_rng(runs)
    least = np.full(40, 0.05)
    alarms = 0
    for _ in range(trials):
        one, other = _null(random, runs, 40), _null(random, runs, 40)
        p_values = paired_p_values(other - one, least) if paired else unpaired_p_values(one, other, least)
        alarms += bool((p_values < 0.05).any())
    assert alarms / trials <= 0.05 + 3 * (0.05 * 0.95 / trials) ** 0.5


def test_a_run_that_lacks_a_metric_does_not_spoil_it() -> None:
    differences = np.full((8, 2), 5.0)
    differences[0, 0] = np.nan
    assert paired_p_values(differences, np.ones(2)).tolist() == [2**-6, 2**-6]
    one, other = np.zeros((6, 1)), np.full((6, 1), 5.0)
    one[0] = np.nan
    assert unpaired_p_values(one, other, np.ones(1))[0] < 0.05


def test_how_many_runs_would_settle_it() -> None:
    random = np.random.default_rng(3)
    shift = paired_shift(random.normal(1, 2, 400))
    size = abs(shift.estimate)
    detect = needed_runs(shift, size / 2, 0.05)
    assert detect == pytest.approx(((1.96 + 0.842) * shift.sd / size) ** 2, abs=1)
    assert needed_runs(shift, 2 * size, 0.05) == pytest.approx((1.96 * shift.sd / size) ** 2, abs=1)
    assert needed_runs(shift, size, 0.05) is not None
    assert needed_runs(paired_shift(np.array([3.0])), 1, 0.05) is None, "the spread of one run is unknown"
    assert needed_runs(paired_shift(np.array([9.0, 9.1])), 1, 0.05) == 6, "no test needs fewer"


@pytest.mark.slow
def test_what_needed_runs_says_is_enough() -> None:
    """With this many pairs the difference is found about as often as the power of 80 % promises."""
    random = np.random.default_rng(4)
    needed = needed_runs(paired_shift(random.normal(1, 1, 1000)), 0.1, 0.05)
    assert needed is not None
    found = sum(paired_p_values(random.normal(1, 1, (needed, 1)), np.array([0.1]))[0] < 0.05 for _ in range(300))
    assert 0.7 <= found / 300 <= 0.92


@pytest.mark.parametrize(
    ("sizes", "enough"), [((3, 3), False), ((4, 4), True), ((2, 9), True), ((1, 30), True), ((1, 5), False)]
)
def test_how_many_runs_without_pairs_suffice(sizes: tuple[int, int], enough: bool) -> None:
    assert can_detect(*sizes, paired=False) is enough
    one, other = np.zeros((sizes[0], 1)), np.full((sizes[1], 1), 9.0)
    assert (unpaired_p_values(one, other, np.ones(1))[0] < 0.05) is np.bool_(enough)
