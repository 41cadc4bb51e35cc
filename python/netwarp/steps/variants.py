"""Variants of a scenario: noise on its links and starts, and other wires."""

from __future__ import annotations

import random

from netwarp.scenario import Scenario

_LEAST_US, _MOST_US = 10, 1000
_START_JITTER = "1ms"


def noise_of(scenario: Scenario) -> tuple[str, ...]:
    """Settings that give each link a jitter from 10 µs to 1 ms, and each flow a start phase if it has none.

    The jitter is drawn, evenly on a logarithmic scale, from the names of scenario and link, so that it is the same each
    time; how it varies in a run comes from the run's seed. Links with their own jitter keep it.
    """
    own = {
        name for name in scenario.links if f"links.{name}.jitter" in scenario.sweep or _states(scenario, name, "jitter")
    }
    settings = [
        f"links.{name}.jitter={_amplitude_us(scenario.name, name)}us" for name in scenario.links if name not in own
    ]
    run = scenario.source.data.get("run")
    still = isinstance(run, dict) and str(run.get("start_jitter", "auto"))[0] == "0"
    return (*settings, *([f"run.start_jitter={_START_JITTER}"] if still else []))


def wires_of(scenario: Scenario, wire: str) -> tuple[str, ...]:
    """Settings that give each link this wire, except those that set `wire` themselves."""
    return tuple(f"links.{name}.wire={wire}" for name in scenario.links if not _states(scenario, name, "wire"))


def _states(scenario: Scenario, name: str, field: str) -> bool:
    """Whether a scenario's text gives this link a field."""
    links = scenario.source.data["links"]
    link = links.get(name) if isinstance(links, dict) else None
    return isinstance(link, dict) and field in link


def _amplitude_us(scenario: str, link: str) -> int:
    draw = random.Random(f"{scenario} {link}")
    return round(float(_LEAST_US * (_MOST_US / _LEAST_US) ** draw.random()))
