"""The environment of `netwarp.learning`: steps and virtual time in a second, and the time of a reset."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import gymnasium
import numpy as np
from netwarp.learning import ENVIRONMENT

from bench.row import Row, measure
from bench.scenarios import ten_megabits

EPISODES = 3


@measure
def learning(place: Path) -> Iterator[Row]:
    """Time episodes that keep a link of 10 Mbit/s busy, in steps of a round trip and of 1 ms."""
    place.mkdir(parents=True, exist_ok=True)
    (place / "lab.toml").write_text(ten_megabits())
    for name, interval_us in (("a round trip", 0), ("1 ms", 1000)):
        env = gymnasium.make(ENVIRONMENT, scenario=place / "lab.toml", interval_us=interval_us)
        env.reset(seed=0)  # compiles the module
        resets_s, steps, steps_s, virtual_s = 0.0, 0, 0.0, 0.0
        for seed in range(EPISODES):
            begin = time.perf_counter()
            _, info = env.reset(seed=seed)
            resets_s += time.perf_counter() - begin
            begin, over = time.perf_counter(), False
            while not over:
                action = 1.0 if info["rtt_ms"] < 1.5 * info["min_rtt_ms"] else -2.0
                _, _, _, over, last = env.step(np.array([action], np.float32))
                steps += 1
                info = last or info
            steps_s += time.perf_counter() - begin
            virtual_s += info["time_s"]
        env.close()
        yield Row(f"steps of {name}", steps / steps_s, unit="steps/s", more_is_better=True)
        yield Row(f"virtual time in steps of {name}", virtual_s / steps_s, unit="s/s", more_is_better=True)
        yield Row(f"reset, steps of {name}", resets_s / EPISODES)
