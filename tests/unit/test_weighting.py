"""Time-weighted statistics compared with brute force."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from netwarp.stats.weighting import (
    TimeWeighted,
    Window,
    growth,
    percentile,
    pool,
    time_weighted,
    weighted_mean,
    weighted_percentiles,
)

SAMPLES = st.lists(st.tuples(st.integers(-50, 50), st.integers(1, 40)), min_size=1, max_size=30)
PERCENTS = st.sampled_from([0.0, 1.0, 12.5, 50.0, 95.0, 99.0, 99.9, 100.0])


def held(samples: list[tuple[int, int]]) -> TimeWeighted:
    return TimeWeighted(np.array([v for v, _ in samples], float), np.array([w for _, w in samples], np.int64))


@settings(deadline=None)
@given(SAMPLES, PERCENTS)
def test_weighted_percentile_is_that_of_the_repeated_values(samples: list[tuple[int, int]], percent: float) -> None:
    repeated = sorted(v for v, w in samples for _ in range(w))
    wanted = next(v for i, v in enumerate(repeated, 1) if Fraction(i) >= Fraction(percent) * len(repeated) / 100)
    assert weighted_percentiles(held(samples), [percent]) == [wanted]


@settings(deadline=None)
@given(st.lists(st.integers(-50, 50), min_size=1, max_size=50), PERCENTS)
def test_percentile_of_events_is_that_of_weights_of_one(values: list[int], percent: float) -> None:
    assert [percentile(np.array(values, float), percent)] == weighted_percentiles(
        held([(v, 1) for v in values]), [percent]
    )


@settings(deadline=None)
@given(SAMPLES)
def test_weighted_mean(samples: list[tuple[int, int]]) -> None:
    wanted = sum(v * w for v, w in samples) / sum(w for _, w in samples)
    assert weighted_mean(held(samples)) == pytest.approx(wanted)


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(-20, 120), st.integers(0, 9)), max_size=20),
    st.integers(0, 100),
    st.integers(0, 100),
)
def test_hold_gives_each_instant_to_the_last_sample_before_it(
    samples: list[tuple[int, int]], one: int, other: int
) -> None:
    samples.sort(key=lambda s: s[0])
    window = Window(min(one, other), max(one, other))
    got = time_weighted(np.array([t for t, _ in samples], np.int64), np.array([v for _, v in samples], float), window)
    wanted: dict[int, int] = {}
    for instant in range(window.start_ns, window.end_ns):
        before = [v for t, v in samples if t <= instant]
        if before:
            wanted[before[-1]] = wanted.get(before[-1], 0) + 1
    spent: dict[int, int] = {}
    for value, weight in zip(got.values, got.weights_ns, strict=True):
        spent[int(value)] = spent.get(int(value), 0) + int(weight)
    assert spent == wanted


def test_slow_phases_are_not_forgotten() -> None:
    """1000 ACKs of 20 ms in 10 s, then 10 of 1000 ms in 10 s: per ACK the p95 is 20 ms, over time 1000 ms."""
    times = np.concatenate([np.arange(1000) * 10_000_000, 10**10 + np.arange(10) * 10**9])
    rtts = np.concatenate([np.full(1000, 20.0), np.full(10, 1000.0)])
    states = time_weighted(times, rtts, Window(0, 2 * 10**10))
    assert weighted_percentiles(states, [95]) == [1000.0]
    assert percentile(rtts, 95) == 20.0
    assert weighted_mean(states) == 510.0


def test_nothing_gives_none() -> None:
    nothing = pool([])
    assert weighted_mean(nothing) is None
    assert weighted_percentiles(nothing, [50]) is None
    assert percentile(np.empty(0), 50) is None


def test_growth_counts_from_the_last_sample_before_the_window() -> None:
    times, counter = np.array([0, 10, 20, 30]), np.array([5, 7, 11, 20])
    assert growth(times, counter, Window(10, 25)) == 4
    assert growth(times, counter, Window(-5, 25)) == 11
    assert growth(times, counter, Window(-5, -1)) is None
    assert growth(times, counter, Window(31, 40)) == 0
