"""Orca's observations, actions and reward, against numbers by hand."""

from __future__ import annotations

import pytest
from netwarp.orca import HISTORY, Orca
from netwarp.policy import State


def state(**values: int) -> State:
    zeros = State._make([0] * len(State._fields))
    usual = {"mss": 1500, "srtt_us": 50_000, "min_rtt_us": 50_000, "cwnd": 20, "interval_ns": 20_000_000}
    return zeros._replace(**{**usual, **values})


def test_the_window_is_multiplied_by_four_to_the_power_of_the_action() -> None:
    agent = Orca()
    assert agent.start(state()) == agent.act(state(), 0.0)
    assert [agent.act(state(), a).cwnd for a in (-1.0, -0.5, 0.0, 0.5, 1.0)] == pytest.approx([5, 10, 20, 40, 80])
    assert agent.act(state(), 7.0).cwnd == pytest.approx(80)


def test_no_action_goes_below_four_packets_and_none_changes_a_smaller_window_by_itself() -> None:
    agent = Orca()
    assert agent.act(state(cwnd=10), -1.0).cwnd == 4
    assert [agent.act(state(cwnd=2), a).cwnd for a in (-1.0, 0.0, 1.0)] == [2, 2, 8]


def test_an_observation_has_the_last_ten_intervals() -> None:
    agent = Orca()
    agent.observe(state(delivered=40, acks=20, pacing_rate=6_000_000))
    found = agent.observe(state(delivered=20, lost=2, acks=10, srtt_us=100_000, pacing_rate=1_500_000))
    assert len(found) == 7 * HISTORY
    # 40 packets of 1500 bytes in 20 ms are 3 MB/s, the highest so far; 2 lost ones 0.15 MB/s.
    assert found[-14:-7] == pytest.approx([1.0, 2.0, 0.0, 1.0, 0.02, 1.0, 1.0])
    assert found[-7:] == pytest.approx([0.5, 0.5, 0.25, 0.5, 0.02, 0.5, 0.625])
    for _ in range(HISTORY):
        found = agent.observe(state(pacing_rate=10**9))
    assert found[:7] == found[-7:] == pytest.approx([0.0, 10.0, 0.0, 0.0, 0.02, 1.0, 1.0])


def test_the_reward() -> None:
    agent = Orca()
    assert agent.reward(state()) == 0.0, "nothing delivered yet"
    agent.observe(state(delivered=40))
    assert agent.reward(state(delivered=40)) == pytest.approx(1.0)
    assert agent.reward(state(delivered=40, srtt_us=60_000)) == pytest.approx(1.0), "up to 1.25 times the lowest RTT"
    assert agent.reward(state(delivered=40, srtt_us=125_000)) == pytest.approx(0.5)
    assert agent.reward(state(delivered=20, lost=2, srtt_us=125_000)) == pytest.approx((0.5 - 0.25) * 0.5)
