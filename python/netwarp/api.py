"""The Python interface: `import netwarp as nw; study = nw.run("bufferbloat", seeds=5)`."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from netwarp import scenario as loading
from netwarp.common.terminal import Terminal, in_notebook
from netwarp.engines import EngineError, EngineOptions, find_engine
from netwarp.kernels.modules import registered_in_binary
from netwarp.modules import c_source
from netwarp.scenario import Scenario, ScenarioError
from netwarp.scenario.model.paths import setting_of
from netwarp.steps.evaluation import Study, open_study
from netwarp.steps.notebook import NotebookProgress, Result, Run
from netwarp.steps.study import make_study
from netwarp.store.errors import StoreError
from netwarp.store.making import new_directory
from netwarp.values.json_values import JsonObject

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

c_source.read_binary = registered_in_binary


def scenarios() -> dict[str, str]:
    """The shipped scenarios: name → summary."""
    return {name: loading.load_scenario(name).summary for name in loading.shipped_scenarios()}


def load_scenario(
    source: str | Path, *, set: JsonObject | None = None, sweep: Mapping[str, Sequence[Any]] | None = None
) -> Scenario:
    """Load the scenario called `source` (a shipped name or a path), with some values and axes replaced.

    `set` maps paths to values, `sweep` paths to lists of values:
    `nw.load_scenario("bufferbloat", set={"duration": "10s"}, sweep={"flows.bulk.cc": ["cubic", "bbr"]})`.
    Raises ScenarioError with every problem found.
    """
    settings = [setting_of(path, value) for path, value in (set or {}).items()]
    settings += [setting_of(f"sweep.{path}", list(values)) for path, values in (sweep or {}).items()]
    return loading.load_scenario(source, settings)


def run(
    source: str | Path | Scenario,
    *,
    set: JsonObject | None = None,
    sweep: Mapping[str, Sequence[Any]] | None = None,
    cases: Sequence[str] | None = None,
    seeds: int | Sequence[int] | None = None,
    output: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    engine: str | None = None,
    kernel: str | None = None,
    read: Sequence[str | os.PathLike[str]] = (),
    inventory: str | os.PathLike[str] | None = None,
    dask: str | None = None,
    plots: bool = False,
    quiet: bool = False,
) -> Study:
    """Run a scenario as `netwarp run` does, and return its result.

    `source` is a shipped scenario's name, a path, or the result of `load_scenario` (then without `set` and `sweep`);
    `seeds` a number (5 is 1 to 5) or a list; `output` the result directory (default results/<name>-<UTC>), resumed if
    it holds the same plan; `engine` the engine of the runs (default "uml"); `read` paths that its programs may read
    beside the system's files and those in its own directory; `inventory` the machines of the engine "ssh"; `dask` the
    address of a scheduler whose workers make the runs; `quiet` leaves out the progress.
    A failed run does not raise: see `Study.failed` and the summary's column `status`.
    Raises ScenarioError, EngineError, StoreError.
    """
    if isinstance(source, Scenario):
        if set or sweep:
            raise ValueError("give set and sweep to nw.load_scenario(); a loaded scenario does not change")
        chosen = source
    else:
        chosen = load_scenario(source, set=set, sweep=sweep)
    return make_study(
        chosen,
        find_engine(
            engine,
            EngineOptions(
                kernel=kernel,
                read=tuple(map(Path, read)),
                inventory=None if inventory is None else Path(inventory),
            ),
        ),
        new_directory(chosen.name) if output is None else Path(output),
        seeds=range(1, seeds + 1) if isinstance(seeds, int) else seeds,
        cases=cases,
        jobs=jobs,
        dask=dask,
        plots=plots,
        console=Terminal(stderr=True, quiet=quiet),
        progress=NotebookProgress if in_notebook() and not quiet else None,
    )


def load_result(directory: str | os.PathLike[str]) -> Study:
    """Open an existing result. Raises StoreError if the directory does not hold one."""
    return open_study(Path(directory))
