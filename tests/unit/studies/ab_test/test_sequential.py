"""Bounds of sequential looks: against published tables, and simulated experiments without an effect."""

from __future__ import annotations

import numpy as np
import pytest
from netwarp.studies.ab_test.clusters import difference, planned_information
from netwarp.studies.ab_test.looks import Looks, Verdict
from netwarp.studies.ab_test.sequential import bounds, inflation, power, spent

# Lan and DeMets' bounds with the O'Brien–Fleming-like function, two-sided 0.05: D. M. Reboussin et al., Controlled
# Clinical Trials 21 (2000), and the examples of the program WinLD that it describes.
PUBLISHED = {
    1: [1.9600],
    2: [2.9626, 1.9686],
    3: [3.7103, 2.5114, 1.9930],
    5: [4.8769, 3.3569, 2.6803, 2.2898, 2.0310],
}


@pytest.mark.parametrize("looks", PUBLISHED)
def test_bounds_are_those_published(looks: int) -> None:
    shares = [(look + 1) / looks for look in range(looks)]
    assert bounds(shares, 0.05) == pytest.approx(PUBLISHED[looks], abs=2e-4)
    assert power(shares, bounds(shares, 0.05), 0.0) == pytest.approx(0.05, abs=1e-5)


def test_looks_cost_little_power() -> None:
    """Jennison and Turnbull (2000), table 2.4 has 1.028 for O'Brien and Fleming's own bounds at five looks."""
    assert inflation(1, 0.05, 0.8) == 1
    assert 1.02 < inflation(5, 0.05, 0.8) < 1.028
    shares = [0.2, 0.4, 0.6, 0.8, 1.0]
    drift = np.sqrt(inflation(5, 0.05, 0.9)) * (1.959964 + 1.281552)
    assert power(shares, bounds(shares, 0.05), float(drift)) == pytest.approx(0.9, abs=1e-3)


def test_no_error_is_spent_before_there_is_information_and_none_after_the_planned_end() -> None:
    assert spent(0.0, 0.05) == 0
    assert 0 < spent(0.01, 0.05) < 1e-100
    assert bounds([0.01], 0.05)[0] < 9
    assert spent(1.0, 0.05) == pytest.approx(0.05)
    assert spent(1.7, 0.05) == pytest.approx(0.05)
    assert bounds([0.5, 1.2, 1.4], 0.05)[2] == float("inf")
    with pytest.raises(ValueError, match="more information"):
        bounds([0.5, 0.5], 0.05)


EXPERIMENTS, ARM, CONNECTIONS, LOOKS = 2000, 8, 6, 5
BETWEEN, WITHIN = 0.3, 2.0
"""Standard deviations of hosts, and of connections of a host."""


def _values(chance: np.random.Generator, effect: float = 0.0) -> np.ndarray:
    """The mean of each host at each look: arm, host, look. At each look, every host has more connections."""
    hosts = chance.normal(0, BETWEEN, (2, ARM, 1))
    hosts[1] += effect
    connections = hosts + chance.normal(0, WITHIN, (2, ARM, LOOKS * CONNECTIONS))
    counts = CONNECTIONS * (1 + np.arange(LOOKS))
    sums: np.ndarray = np.cumsum(connections, axis=2)[:, :, counts - 1] / counts
    return sums


@pytest.mark.slow
def test_many_looks_raise_false_alarms_no_further() -> None:
    """2,000 experiments without an effect, each looked at five times: at most 5 % are stopped for one, and naive looks
    at p < 0.05 would stop more than twice as many."""
    sd = float(np.hypot(BETWEEN, WITHIN))
    looking = Looks("", planned_information(0.68, 0.05, 0.8, LOOKS), 0.0, sd, (BETWEEN / sd) ** 2)
    shares = [looking.share([[CONNECTIONS * (look + 1)] * ARM] * 2) for look in range(LOOKS)]
    assert 0.25 < shares[0] < 0.35 and 0.95 < shares[-1] < 1.1
    alarms = naive = 0
    for seed in range(EXPERIMENTS):
        values = _values(np.random.default_rng(seed))
        found = [difference(list(values[0, :, look]), list(values[1, :, look])) for look in range(LOOKS)]
        if max(abs(one.z) for one in found) < 1.9:  # no bound is as low
            continue
        naive += any(one.p < 0.05 for one in found)
        looks = looking
        for share, one in zip(shares, found, strict=True):
            looks = looks.with_look(share, one, 0.05)
        alarms += any(look.verdict is Verdict.EFFECT for look in looks.looks)
    # 5 % and three standard errors of a share of 2,000.
    assert alarms / EXPERIMENTS <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / EXPERIMENTS)
    assert alarms / EXPERIMENTS >= 0.025
    assert naive / EXPERIMENTS > 0.08
