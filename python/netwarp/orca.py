"""Orca's observations, actions and reward.

S. Abbasloo, C.-Y. Yen, H. J. Chao: Classic Meets Modern: A Pragmatic Learning-Based Congestion Control for the
Internet, SIGCOMM 2020, as its authors' program computes them (`rl-module/envwrapper.py` and
`src/orca-server-mahimahi.cc` of github.com/Soheil-ab/Orca). CUBIC decides, and the policy multiplies its window every
20 ms. It needs nothing but `netwarp.policy`, so that a trained policy can be a program, with the parameters
`PARAMETERS`.
"""

from __future__ import annotations

import math
from collections import deque

from netwarp.policy import Action, State

HISTORY = 10
"""Monitoring intervals in an observation (`rec_dim` of the authors' parameters)."""
BASE = 4.0
"""The factor of the window for an action of 1."""
LARGEST = 1.0
"""The largest action in either direction."""
FEWEST_PACKETS = 4
"""No action reduces the window below this."""
INTERVAL_US = 20_000
"""The monitoring interval (`report_period`)."""
PARAMETERS = ("over=cubic",)
"""The parameters of the module through which the kernel asks: CUBIC is below."""
LOSS_WEIGHT = 5.0
"""The weight of the lost packets' rate (ζ of the paper)."""
DELAY_MARGIN = 1.25
"""The multiple of the lowest RTT up to which delay costs nothing (β of the paper)."""
LOW = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
HIGH = (1.0, 10.0, 1_000.0, 100.0, 1_000.0, 1.0, 1.0)
"""Bounds of the seven values of an interval (`Orca.observe`)."""
_IDLE = (0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0)


class Orca:
    """One connection: its history, and the highest throughput so far in bytes/s."""

    def __init__(self) -> None:
        self._fastest = 0.0
        self._history: deque[tuple[float, ...]] = deque([_IDLE] * HISTORY, maxlen=HISTORY)

    def start(self, state: State) -> Action:
        """The action at the start of a connection: CUBIC's window."""
        return Action(state.cwnd)

    def act(self, state: State, action: float) -> Action:
        """Multiply CUBIC's window by 4^a; 0 leaves it as it is. Raises ValueError if the action is NaN."""
        if math.isnan(action):
            raise ValueError("the policy's action is nan; check its weights and what it computes")
        factor = BASE ** min(max(action, -LARGEST), LARGEST)
        return Action(max(factor * state.cwnd, min(state.cwnd, FEWEST_PACKETS)))

    def observe(self, state: State) -> list[float]:
        """The history with this interval: the oldest first.

        The values are the throughput, the pacing rate and 5 times the rate of losses, each by the highest throughput so
        far; the ACKs by the window; the length of the interval in seconds; the lowest RTT by the smoothed one; and the
        delay's part in the reward.
        """
        self._fastest = max(self._fastest, state.throughput)
        fastest = self._fastest or 1.0
        found = (
            state.throughput / fastest,
            state.pacing_rate / fastest,
            LOSS_WEIGHT * lost_rate(state) / fastest,
            state.acks / max(state.cwnd, 1),
            state.interval_ns / 1e9,
            _lowest(state),
            delay_part(state),
        )
        bounded = (min(max(value, low), high) for value, low, high in zip(found, LOW, HIGH, strict=True))
        self._history.append(tuple(bounded))
        return self.observation

    @property
    def observation(self) -> list[float]:
        """The history: `HISTORY` times the seven values."""
        return [value for interval in self._history for value in interval]

    def reward(self, state: State) -> float:
        """(throughput - 5 x losses) / highest throughput x the delay's part, of an observed interval."""
        gained = state.throughput - LOSS_WEIGHT * lost_rate(state)
        return gained / self._fastest * delay_part(state) if self._fastest else 0.0


def lost_rate(state: State) -> float:
    """The rate of losses since the last state, in bytes/s."""
    return state.lost * state.mss / (state.interval_ns / 1e9) if state.interval_ns else 0.0


def delay_part(state: State) -> float:
    """1 up to a smoothed RTT of 1.25 times the lowest, then 1.25 times the lowest by the smoothed RTT."""
    return min(1.0, DELAY_MARGIN * _lowest(state))


def _lowest(state: State) -> float:
    """The lowest RTT by the smoothed one; 1 without a sample."""
    return min(state.min_rtt_us / state.srtt_us, 1.0) if state.min_rtt_us and state.srtt_us else 1.0
