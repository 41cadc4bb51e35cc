"""Observations, actions and rewards of an environment: the agents of `netwarp.aurora` and `netwarp.orca`, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from netwarp import aurora, orca
from netwarp.policy import Action, State


class Agent(Protocol):
    """One connection."""

    def start(self, state: State) -> Action:
        """The action at the start of the connection."""

    def act(self, state: State, action: float) -> Action:
        """The kernel's action for one of the environment."""

    def observe(self, state: State) -> list[float]:
        """The history with this interval."""

    @property
    def observation(self) -> list[float]:
        """The history."""

    def reward(self, state: State) -> float:
        """The reward of an interval, which has been observed."""


@dataclass(frozen=True)
class AgentKind:
    """A kind of agent: what makes one, the bounds of an interval's values, the intervals in an observation, the largest
    action, the monitoring interval (0: the smoothed RTT), and the parameters of the module that asks."""

    new: Callable[[], Agent]
    low: tuple[float, ...]
    high: tuple[float, ...]
    history: int
    largest: float
    interval_us: int = 0
    parameters: tuple[str, ...] = ()


AGENTS = {
    "aurora": AgentKind(aurora.Aurora, aurora.LOW, aurora.HIGH, aurora.HISTORY, aurora.LARGEST),
    "orca": AgentKind(orca.Orca, orca.LOW, orca.HIGH, orca.HISTORY, orca.LARGEST, orca.INTERVAL_US, orca.PARAMETERS),
}
"""Each kind by its name."""
