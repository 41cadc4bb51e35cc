"""The real Linux network stack in virtual time.

    import netwarp as nw

    study = nw.run("bufferbloat", sweep={"flows.bulk.cc": ["cubic", "bbr"]}, seeds=5)
    study.summary            # polars: a row per run and metric
    study.scan("acks")       # polars, lazy: every ACK of every run
    study                    # in a notebook: verdicts, the table of the main metrics, a figure

`dir(nw)` lists its functions and types, and docs/python.md explains them.
"""

from __future__ import annotations

TYPE_CHECKING = False
"""Defined here because `typing` takes milliseconds to load, in which the command cannot handle an interrupt yet."""

if TYPE_CHECKING:
    from typing import Any

    from netwarp.api import (
        EngineError,
        Result,
        Run,
        Scenario,
        ScenarioError,
        StoreError,
        Study,
        load_result,
        load_scenario,
        run,
        scenarios,
    )

__all__ = [
    "EngineError",
    "Result",
    "Run",
    "Scenario",
    "ScenarioError",
    "StoreError",
    "Study",
    "load_result",
    "load_scenario",
    "run",
    "scenarios",
]


def __dir__() -> list[str]:
    return list(__all__)


def __getattr__(name: str) -> Any:
    # Imported lazily: the command line also imports this package, and has to answer at once.
    if name not in __all__:
        raise AttributeError(f"module 'netwarp' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415

    return getattr(import_module("netwarp.api"), name)
