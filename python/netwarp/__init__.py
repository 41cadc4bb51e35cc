"""The real Linux network stack in virtual time.

    import netwarp as nw

    study = nw.run("bufferbloat", sweep={"flows.bulk.cc": ["cubic", "bbr"]}, seeds=5)
    study.summary            # polars: a row per run and metric
    study.scan("acks")       # polars, lazy: every ACK of every run

See `netwarp.api` for what there is.
"""

from __future__ import annotations

TYPE_CHECKING = False
"""The one of `typing` takes milliseconds to load, in which the command cannot handle an interrupt yet."""

if TYPE_CHECKING:
    from typing import Any

    from netwarp.api import EngineError, ScenarioError, StoreError, Study, load_result, load_scenario, run

__all__ = ["EngineError", "ScenarioError", "StoreError", "Study", "load_result", "load_scenario", "run"]


def __getattr__(name: str) -> Any:
    # Lazily: the command line imports this package as well, and has to answer at once.
    if name not in __all__:
        raise AttributeError(f"module 'netwarp' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415

    return getattr(import_module("netwarp.api"), name)
