"""A small policy on Aurora's observations, as a program: `cc = "program:./policy.py ./weights.json"`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from netwarp.aurora import HISTORY, Aurora
from netwarp.policy import END, START, Action, State, read_weights, serve

FEATURES = 7
"""Three statistics of the last interval, their means over the history, and a constant."""


def decide(weights: Sequence[float], observation: Sequence[float]) -> float:
    """The action: a linear function of gradient, latency ratio and send ratio, now and on average."""
    last = observation[-3:]
    means = [sum(observation[kind::3]) / HISTORY for kind in range(3)]
    features = [last[0], last[1] - 1, last[2] - 1, means[0], means[1] - 1, means[2] - 1, 1]
    return sum(weight * feature for weight, feature in zip(weights, features, strict=True))


class Policy:
    """The control of one connection."""

    def __init__(self) -> None:
        self.aurora = Aurora()

    def __call__(self, state: State) -> Action:
        """Observe an interval, and change the rate."""
        if state.event == START:
            return self.aurora.start(state)
        if state.event == END:
            return Action(state.cwnd)
        return self.aurora.act(state, decide(WEIGHTS, self.aurora.observe(state)))


if __name__ == "__main__":
    WEIGHTS = read_weights(sys.argv[1], FEATURES)
    serve(Policy)
