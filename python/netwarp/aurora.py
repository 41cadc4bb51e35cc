"""Aurora's observations, actions and reward.

N. Jay, N. Rotman, B. Godfrey, M. Schapira, A. Tamar: A Deep Reinforcement Learning Perspective on Internet Congestion
Control, ICML 2019, sections 4 and 5. It needs nothing but `netwarp.policy`, so that a trained policy can be a program.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence

from netwarp.policy import Action, State

HISTORY = 10
"""Monitoring intervals in an observation (k of the paper)."""
STEP = 0.025
"""The change of the rate for an action of 1 (α of the paper)."""
LARGEST = 10.0
"""The largest action in either direction: a quarter more, or less, in an interval."""
LOW = (-1.0, 1.0, 0.0)
HIGH = (10.0, 10_000.0, 1_000.0)
"""Bounds of the three statistics of an interval: the latency gradient, the latency ratio and the send ratio."""
PACKET_BYTES = 1500
FEWEST_PACKETS = 2
"""The lowest rate, in packets per round trip: slower senders would hear too rarely."""
MOST = 8.0
"""The highest rate, as a multiple of the highest throughput so far: a policy that never slows down must not flood."""
FIRST_PACKETS = 10
"""The first rate, in packets per round trip."""
_IDLE = (0.0, 1.0, 1.0)


class Aurora:
    """One connection: its rate in bytes/s, and its history."""

    def __init__(self) -> None:
        self.rate = 0.0
        self._fastest = 0.0
        self._history: deque[tuple[float, ...]] = deque([_IDLE] * HISTORY, maxlen=HISTORY)

    def start(self, state: State) -> Action:
        """The action at the start of a connection."""
        self.rate = self._fastest = FIRST_PACKETS * state.mss / _round_trip_s(state)
        return self._paced(state)

    def act(self, state: State, action: float) -> Action:
        """Multiply the rate by 1 + α a, or divide it by 1 - α a if a is negative (section 4.1).

        Raises ValueError if the action is NaN.
        """
        if math.isnan(action):
            raise ValueError("the policy's action is nan; check its weights and what it computes")
        a = min(max(action, -LARGEST), LARGEST)
        self.rate *= 1 + STEP * a if a >= 0 else 1 / (1 - STEP * a)
        self._fastest = max(self._fastest, state.throughput)
        self.rate = max(min(self.rate, MOST * self._fastest), FEWEST_PACKETS * state.mss / _round_trip_s(state))
        return self._paced(state)

    def observe(self, state: State) -> list[float]:
        """The history with this interval's statistics: the oldest first."""
        lowest_s = max(state.min_rtt_us / 1e6 or state.rtt_mean_s, 1e-6)  # without a sample, the ratio is 1
        ratio = state.sent / state.delivered if state.delivered else HIGH[2]
        found = (state.rtt_gradient, state.rtt_mean_s / lowest_s, ratio)
        bounded = (min(max(value, low), high) for value, low, high in zip(found, LOW, HIGH, strict=True))
        self._history.append(tuple(bounded))
        return self.observation

    @property
    def observation(self) -> list[float]:
        """The history: `HISTORY` times the three statistics."""
        return [value for interval in self._history for value in interval]

    def reward(self, state: State) -> float:
        """The reward of an interval."""
        return reward(state)

    def _paced(self, state: State) -> Action:
        """The rate, with a window of two round trips at it, which matters only if no packet is acknowledged."""
        window = 2 * self.rate * _round_trip_s(state) / state.mss + FIRST_PACKETS
        return Action(window, self.rate)


def reward(state: State) -> float:
    """10 x throughput - 1000 x latency - 2000 x loss (section 4.2), in packets/s of 1500 bytes, seconds and a share."""
    return 10 * state.throughput / PACKET_BYTES - 1000 * state.rtt_mean_s - 2000 * state.loss


def linear(weights: Sequence[float], observation: Sequence[float]) -> float:
    """The action of a linear policy: a weight for each value of an observation, and at last a constant."""
    return sum(w * x for w, x in zip(weights, observation, strict=False)) + weights[len(observation)]


def _round_trip_s(state: State) -> float:
    return max(state.srtt_us, 1) / 1e6
