"""The real Linux network stack in virtual time.

    import netwarp as nw

    study = nw.run("bufferbloat", sweep={"flows.bulk.cc": ["cubic", "bbr"]}, seeds=5)
    study.summary            # polars: a row per run and metric
    study.scan("acks")       # polars, lazy: every ACK of every run

See `netwarp.api` for what there is.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from netwarp.api import EngineError, ScenarioError, StoreError, Study, load_result, load_scenario, run

__all__ = ["EngineError", "ScenarioError", "StoreError", "Study", "load_result", "load_scenario", "run"]


def __getattr__(name: str) -> Any:
    # Lazily: the command line imports this package as well, and has to answer at once.
    if name not in __all__:
        raise AttributeError(f"module 'netwarp' has no attribute {name!r}")
    return getattr(import_module("netwarp.api"), name)
