"""Aurora's observations, actions and reward, against numbers by hand; and the draws of an environment."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from netwarp.aurora import HISTORY, Aurora, linear, reward
from netwarp.learning.draws import check_draws, drawn, extremes
from netwarp.orca import Orca
from netwarp.policy import State, read_weights


def state(**values: int) -> State:
    zeros = State._make([0] * len(State._fields))
    return zeros._replace(**{"mss": 1500, "srtt_us": 100_000, "min_rtt_us": 50_000, **values})


def test_the_rate_begins_with_ten_packets_a_round_trip_and_changes_by_alpha() -> None:
    agent = Aurora()
    assert agent.start(state()).pacing_rate == pytest.approx(10 * 1500 / 0.1)
    assert agent.act(state(), 2.0).pacing_rate == pytest.approx(150_000 * 1.05)
    assert agent.act(state(), -2.0).pacing_rate == pytest.approx(150_000)
    assert agent.act(state(), 1e9).pacing_rate == pytest.approx(150_000 * 1.25)
    for _ in range(100):
        highest = agent.act(state(), 10.0)
    assert highest.pacing_rate == pytest.approx(8 * 150_000)
    faster = agent.act(state(delivered=200, interval_ns=10**9), 10.0)
    assert faster.pacing_rate == pytest.approx(8 * 150_000 * 1.25)
    for _ in range(100):
        lowest = agent.act(state(), -10.0)
    assert lowest.pacing_rate == pytest.approx(2 * 1500 / 0.1)
    assert lowest.cwnd == pytest.approx(2 * 2 + 10)


def test_an_observation_has_the_last_ten_intervals() -> None:
    agent = Aurora()
    first = agent.observe(state(rtt_samples=1, sum_r=75_000, sent=12, delivered=10))
    assert len(first) == 3 * HISTORY
    assert first[-3:] == pytest.approx([0.0, 1.5, 1.2])
    assert first[:-3] == [0.0, 1.0, 1.0] * (HISTORY - 1)
    for _ in range(HISTORY):
        last = agent.observe(state(sent=5))
    assert last == [0.0, 2.0, 1000.0] * HISTORY


def test_the_reward_is_the_papers() -> None:
    """100 packets of 1500 bytes in 0.1 s, 80 ms, a tenth lost: 10 x 1000 - 1000 x 0.08 - 2000 x 0.1."""
    one = state(delivered=90, lost=10, interval_ns=90_000_000, rtt_samples=1, sum_r=80_000)
    assert reward(one) == pytest.approx(10 * 1000 - 80 - 200)


def test_a_linear_policy() -> None:
    assert linear([1.0, 2.0, 0.5], [3.0, 4.0]) == 11.5


def test_draws_are_within_their_ranges_and_follow_from_the_seed() -> None:
    draws: dict[str, Any] = {
        "a": ("5mbit", "20mbit"),
        "b": (1, 3),
        "c": (0.5, 1),
        "d": ["x", "y"],
    }
    found = [drawn(draws, np.random.default_rng(seed)) for seed in range(50)]
    assert all(one["a"].endswith("mbit") and 5 <= float(one["a"][:-4]) <= 20 for one in found)
    assert {one["b"] for one in found} == {1, 2, 3}
    assert all(0.5 <= one["c"] <= 1 for one in found)
    assert {one["d"] for one in found} == {"x", "y"}
    assert drawn(draws, np.random.default_rng(7)) == found[7] != found[8]


@pytest.mark.parametrize(
    "wrong",
    [
        *[("5mbit", "20ms"), ("20mbit", "5mbit"), (3, 1), "x", [], (1, 2, 3), ("x", "y"), 5, (True, False)],
        *[(float("nan"), 1.0), (0.0, float("inf")), (-1e308, 1e308), (1, 2**70)],
    ],
)
def test_a_wrong_range_is_refused(wrong: Any) -> None:
    with pytest.raises(ValueError, match=r"draw\['a'\]"):
        check_draws({"a": wrong})


def test_each_end_and_each_value_is_tried_before_an_episode() -> None:
    draws: dict[str, Any] = {"a": ("5mbit", "20mbit"), "b": ["x", "y", "z"]}
    assert list(extremes(draws)) == [{"a": "5mbit", "b": "x"}, {"a": "20mbit", "b": "y"}, {"a": "20mbit", "b": "z"}]
    assert list(extremes({})) == []


@pytest.mark.parametrize("agent", [Aurora(), Orca()])
def test_an_action_that_is_nan_is_refused_with_its_likely_cause(agent: Aurora | Orca) -> None:
    agent.start(state())
    with pytest.raises(ValueError, match="the policy's action is nan; check its weights"):
        agent.act(state(cwnd=10), float("nan"))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[1, NaN]", "weight 2 is nan; a policy of 2 weights needs a list of as many finite numbers"),
        ("[Infinity, 1]", "weight 1 is inf;"),
        ('["1", 2]', "weight 1 is '1';"),
        ("[1]", "has a list of 1;"),
        ('{"a": 1}', "has a dict;"),
        ("[1,", "cannot be read as JSON"),
    ],
)
def test_a_file_of_weights_that_no_policy_has_ends_the_program(tmp_path: Path, text: str, why: str) -> None:
    (tmp_path / "w.json").write_text(text)
    with pytest.raises(SystemExit, match=re.escape(why)):
        read_weights(str(tmp_path / "w.json"), 2)
    (tmp_path / "w.json").write_text("[1, -2.5]")
    assert read_weights(str(tmp_path / "w.json"), 2) == [1.0, -2.5]
