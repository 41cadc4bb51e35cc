"""Flows of a group that draw their own start, duration and size: the distributions' means and quantiles, and limits."""

from __future__ import annotations

import math

import numpy as np
import pytest
from netwarp.flows.transfer_size import TransferSize, mean_of
from netwarp.lab import build_lab
from netwarp.lab.draws import draw_from
from netwarp.lab_format.model import LabFlow
from netwarp.plan import make_plan
from netwarp.scenario import ScenarioError, parse_scenario
from netwarp.values.fields import Distribution
from scenario_texts import replaced

MB = 10**6
COUNT = 2000
DRAWN: dict[str, tuple[Distribution | TransferSize, float]] = {
    "exponential": (Distribution(mean=MB, distribution="exponential"), MB * math.log(2)),
    "pareto": (TransferSize(mean=MB, distribution="pareto", shape=3.0), MB * 2 / 3 * 2 ** (1 / 3)),
    "lognormal": (TransferSize(mean=MB, distribution="lognormal", shape=1.0), MB * math.exp(-0.5)),
    "empirical": (TransferSize(mean=150, distribution="empirical", cdf=((100, 0.25), (200, 1.0))), 100 + 100 / 3),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", DRAWN)
def test_draws_have_the_mean_and_the_median_of_their_distribution(name: str) -> None:
    """Over 20 seeds: within four standard errors of each, the median's as many shares of one half."""
    value, median = DRAWN[name]
    outside = 0
    for seed in range(1, 21):
        drawn = np.array([draw_from(value, seed, "size", f"flow.{number}") for number in range(COUNT)])
        if name != "empirical":
            assert abs(drawn.mean() - mean_of(value)) < 4 * drawn.std() / math.sqrt(COUNT)
        outside += abs(float((drawn <= median).mean()) - 0.5) > 2 * 0.5 / math.sqrt(COUNT)
    assert outside <= 4, "of 20, one is expected beyond two standard errors"


def test_an_empirical_distribution_keeps_to_its_points() -> None:
    value, _ = DRAWN["empirical"]
    drawn = [draw_from(value, 1, number) for number in range(COUNT)]
    assert min(drawn) == 100 and max(drawn) <= 200
    assert sum(one == 100 for one in drawn) / COUNT == pytest.approx(0.25, abs=0.04)


def flows(lines: str, seed: int = 1) -> list[LabFlow]:
    text = replaced(('tool = "bulk"', f'tool = "bulk"\ncount = 200\n{lines}'))
    lab = build_lab(make_plan(parse_scenario(text), seeds=[seed]).runs[0])
    return [flow for flow in lab.flows if flow.group == "bulk"]


def test_each_flow_of_a_group_draws_its_own() -> None:
    drawn = flows('start = "2s exponential"\nbytes = "30kB pareto 1.5"')
    assert len({flow.start_ns for flow in drawn}) > 190 and len({flow.own["bytes"] for flow in drawn}) > 190
    again, other = flows('start = "2s exponential"\nbytes = "30kB pareto 1.5"'), flows('start = "2s exponential"', 2)
    assert [flow.start_ns for flow in again] == [flow.start_ns for flow in drawn]
    assert [flow.start_ns for flow in other] != [flow.start_ns for flow in drawn]


def test_starts_and_ends_are_within_the_run() -> None:
    run_ns = parse_scenario(replaced()).duration
    for flow in flows('start = "9s exponential"\nduration = "20s pareto"'):
        assert 0 <= flow.start_ns < flow.start_ns + flow.duration_ns <= run_ns


def test_a_fixed_value_is_that_of_every_flow() -> None:
    assert {flow.own["bytes"] for flow in flows('bytes = "30kB"')} == {30_000}
    assert {flow.duration_ns for flow in flows('duration = "2s"')} == {2 * 10**9}


def test_connections_are_not_opened_ahead_of_starts_that_are_drawn() -> None:
    with pytest.raises(ScenarioError, match="connect_ahead: connects ahead of one start"):
        flows('start = "2s exponential"\nconnect_ahead = "1s"')
