"""Statistics over seeds are right: false alarms and coverage by simulation (`make bench` has more trials)."""

from math import sqrt

import pytest
from netwarp.stats.intervals import SKEW, mean_interval, robust_interval, skewed_confidence
from netwarp.stats.permutation import ALPHA

from bench.inference import DISTRIBUTIONS, SEEDS, false_alarms, interval_claim, interval_misses, shift_coverage

TRIALS = 2_000


def most(share: float, trials: int) -> float:
    """The number that samples of this many trials exceed once in a thousand, if this is the true share."""
    return share + 3.3 * sqrt(share * (1 - share) / trials)


@pytest.mark.slow
@pytest.mark.parametrize("name", DISTRIBUTIONS)
@pytest.mark.parametrize("seeds", SEEDS)
def test_the_interval_of_an_expectation_holds_a_right_value(name: str, seeds: int) -> None:
    assert interval_misses(name, seeds, TRIALS) <= most(interval_claim(name, seeds), TRIALS)


@pytest.mark.slow
def test_students_interval_alone_would_not() -> None:
    """The test above can fail: of 20 exponential values Student's interval misses more than one mean of a thousand."""
    assert interval_misses("exponential", 20, TRIALS, mean_interval) > most(0.001, TRIALS)


def test_what_few_seeds_can_claim() -> None:
    assert skewed_confidence(3, 0.999) == pytest.approx(1 - SKEW**3 - (1 - SKEW) ** 3)
    assert skewed_confidence(6, 0.999) == pytest.approx(0.8816, abs=1e-4)
    assert skewed_confidence(19, 0.999) < 0.999 == skewed_confidence(20, 0.999)


def test_of_many_values_the_farthest_are_left_out() -> None:
    """With 200 values, at most once in a thousand the 70 % quantile is beyond about the 161st, not the last."""
    found = robust_interval([float(value) for value in range(200)], 0.999)
    assert found.low is not None and found.high is not None
    assert 150 < found.high < 165
    assert found.low == 199 - found.high


@pytest.mark.slow
@pytest.mark.parametrize("paired", [True, False], ids=["pairs", "no pairs"])
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_a_comparison_keeps_its_error_rate_and_its_intervals(name: str, paired: bool) -> None:
    trials = 300
    assert false_alarms(name, 3, 50, paired=paired) == 0, "three runs a side decide nothing"
    assert false_alarms(name, 6, trials, paired=paired) <= most(ALPHA, trials)
    held, claimed = shift_coverage(name, 6, trials, paired=paired)
    assert 1 - held <= most(1 - claimed, trials)
