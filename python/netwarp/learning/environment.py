"""The Gymnasium environment: an episode is a run of a scenario, a step one monitoring interval of a flow."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from netwarp.api import load_scenario
from netwarp.engines import EngineError, EngineOptions, find_engine
from netwarp.flows import kind_of
from netwarp.learning.agents import AGENTS
from netwarp.learning.background import BackgroundRun
from netwarp.learning.draws import Draws, check_draws, drawn, extremes
from netwarp.modules.program import CALLER, PROGRAM
from netwarp.policy import END, START, Action, State

Observation = NDArray[np.float32]
MAX_SEED = 2**31


class CongestionControl(gymnasium.Env[Observation, NDArray[np.float32]]):
    """One flow of a scenario as an environment, with the observations, actions and reward of Aurora or Orca (`agent`).

    `scenario` is a path or a shipped scenario's name, `flow` the group that is controlled (default: the first whose
    congestion control can be set), which must make one connection. `set` sets fields of the scenario, `draw` draws them
    in each episode (see `Draws`). `interval_us` is the monitoring interval (0: the smoothed RTT; default: the agent's).
    `exact` keeps exact records of packets while a run lasts, which only costs time here. An episode ends with its run:
    `truncated`.

    The scenario is read with both ends of each range and each value of each list. Raises ValueError, ScenarioError,
    EngineError.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 (Gymnasium declares it so)

    def __init__(
        self,
        scenario: str | Path = "bufferbloat",
        *,
        flow: str | None = None,
        set: Mapping[str, Any] | None = None,
        draw: Draws | None = None,
        agent: str = "aurora",
        interval_us: int | None = None,
        kernel: str | None = None,
        exact: bool = False,
    ) -> None:
        if agent not in AGENTS:
            raise ValueError(f'there is no agent "{agent}"; there are {sorted(AGENTS)}')
        if set is not None and not isinstance(set, Mapping):
            raise ValueError(f'set is {set!r}; give a dictionary from paths, such as {{"duration": "10s"}}')
        check_draws(draw or {})
        self._kind = AGENTS[agent]
        low, high = (
            np.tile(np.array(ends, np.float32), self._kind.history) for ends in (self._kind.low, self._kind.high)
        )
        self.observation_space = spaces.Box(low, high, dtype=np.float32)
        self.action_space = spaces.Box(-self._kind.largest, self._kind.largest, (1,), np.float32)
        self._scenario, self._draw = scenario, dict(draw or {})
        self._engine = find_engine("uml", EngineOptions(kernel=kernel))
        base = load_scenario(scenario, set=dict(set or {}))
        able = [name for name, one in base.flows.items() if hasattr(one, "cc") and one.count > 0]
        self.flow = flow or next(iter(able), "")
        if self.flow not in able:
            raise ValueError(
                f'the scenario has no flow "{self.flow}" whose congestion control can be set; it has {able}'
            )
        if kind_of(base.flows[self.flow].tool).new_connections:
            raise ValueError(f'the flow "{self.flow}" makes many connections, but an environment controls only one')
        if (count := base.flows[self.flow].count) > 1:
            raise ValueError(f'the flow "{self.flow}" stands for {count} flows, but an environment controls only one')
        if f"flows.{self.flow}.cc" in (*(set or ()), *(draw or ())):
            raise ValueError(f"the environment decides flows.{self.flow}.cc; leave it out of `set` and `draw`")
        length_us = self._kind.interval_us if interval_us is None else interval_us
        control = " ".join([f"{PROGRAM}{CALLER}", *self._kind.parameters, f"interval_us={length_us}"])
        self._set = {**(set or {}), f"flows.{self.flow}.cc": control, "record.exact": exact}
        for values in [{}, *extremes(self._draw)]:
            load_scenario(scenario, set={**self._set, **values})
        self._run: BackgroundRun | None = None
        self._agent = self._kind.new()
        self._state: State | None = None
        self._connection: int | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start a run with this seed (without one, with one drawn from the environment's), up to its first interval."""
        super().reset(seed=seed)
        self.close()
        values = drawn(self._draw, self.np_random)
        chosen = int(self.np_random.integers(MAX_SEED)) if seed is None else seed
        scenario = load_scenario(self._scenario, set={**self._set, **values})
        self._agent, self._connection = self._kind.new(), None
        self._run = BackgroundRun(scenario, self._engine, chosen)
        self._state = self._asked()
        if self._state is None:
            raise EngineError(f'the run ended before the flow "{self.flow}" had an interval (seed {chosen})')
        return self._observed(self._state), {"seed": chosen, "drawn": values, **facts(self._state)}

    def step(self, action: NDArray[np.float32]) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Take the action, and return the observation and reward of the next interval.

        Raises ValueError if the action is not one finite number; then the episode can go on with another.
        """
        if self._run is None or self._state is None:
            raise gymnasium.error.ResetNeeded("the run is over: call reset()")
        self._run.answer(self._state, self._agent.act(self._state, _number(action)))
        self._state = self._asked()
        if self._state is None:
            return np.array(self._agent.observation, np.float32), 0.0, False, True, {}
        observation = self._observed(self._state)
        return observation, self._agent.reward(self._state), False, False, facts(self._state)

    def close(self) -> None:
        """End the run; no process of it remains."""
        if self._run is not None:
            self._run.close()
            self._run = None

    def _observed(self, state: State) -> Observation:
        return np.array(self._agent.observe(state), np.float32)

    def _asked(self) -> State | None:
        """The state of the flow's sender after the next interval; None at the end of the run."""
        assert self._run is not None
        while (state := self._run.next_state()) is not None:
            if state.event == START:  # of either end: the one that sends sees an interval
                self._run.answer(state, self._agent.start(state))
            elif state.event == END:
                self._run.answer(state, Action(state.cwnd))
            elif self._connection in (None, state.flow):
                self._connection = state.flow
                return state
            else:
                raise EngineError(f'the flow "{self.flow}" has a second connection, but an environment controls one')
        return None


def _number(action: object) -> float:
    """The action's number. Raises ValueError unless it is one finite number, in an array of any shape."""
    try:
        numbers = np.asarray(action, np.float64).reshape(-1)
    except (TypeError, ValueError):  # NumPy's words for a text, an object or lists of several lengths
        numbers = np.empty(0)
    if len(numbers) != 1 or not np.isfinite(numbers[0]):
        raise ValueError(f"an action is one finite number, not {action!r}")
    return float(numbers[0])


def facts(state: State) -> dict[str, Any]:
    """Measurements of an interval: rates in Mbit/s, times in seconds and milliseconds, the share of lost packets."""
    return {
        "time_s": state.time_ns / 1e9,
        "interval_s": state.interval_ns / 1e9,
        "throughput_mbps": state.throughput * 8 / 1e6,
        "sending_mbps": state.pacing_rate * 8 / 1e6,
        "rtt_ms": state.rtt_mean_s * 1e3,
        "min_rtt_ms": state.min_rtt_us / 1e3,
        "loss": state.loss,
    }
