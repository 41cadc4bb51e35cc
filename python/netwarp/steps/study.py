"""Makes a result from a scenario, for `run` and `exec`.

The steps before and around the runs are here; `evaluation.py` evaluates them, with libraries that take longer to load
than a machine takes to start.
"""

import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from netwarp.engines import Engine, EngineError, Outcome, identity_of, refuse_unsupported, refuse_withheld
from netwarp.execute import Execution, execute
from netwarp.execute.execution import RunEvent
from netwarp.execute.manifest import manifest, plan_json
from netwarp.execute.processors import processors
from netwarp.modules.named import KEPT as MODULES
from netwarp.modules.named import module_files
from netwarp.plan import Plan, Run, make_plan
from netwarp.plots.helpers import helpers, helpers_for_runs
from netwarp.scenario import Scenario
from netwarp.scenario.model.trace import trace_files
from netwarp.steps.needs import refuse_unshowable
from netwarp.steps.room import room_notes
from netwarp.store.files import write_bytes
from netwarp.store.making import ResultWriter, begin_result
from netwarp.store.printed import excerpt
from netwarp.values.files import KEPT

if TYPE_CHECKING:
    from rich.console import Console

    from netwarp.execute.execution import Progress
    from netwarp.execute.progress import RunProgress
    from netwarp.steps.evaluation import Study

_EXCERPT_LINES = 10
"""The lines of each stream that are shown of a command whose run failed."""


def named_files(scenario: Scenario) -> dict[str, bytes]:
    """The traces, modules and programs that the scenario names, by the paths at which a result keeps them.

    Read them before the result exists, whose directory may have the name of one.
    """
    source = scenario.source
    traces = trace_files(source.data, source.folder_of)
    modules = module_files(source.data, source.places)
    return {
        **{f"{KEPT}/{name}": content for name, content in traces.items()},
        **{f"{MODULES}/{name}": content for name, content in modules.items()},
    }


def keep_files(files: Mapping[str, bytes], result: ResultWriter) -> None:
    """Write the files that the scenario names into the result, so that it can be run again from there."""
    for name, content in files.items():
        path = result.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, content)


def make_study(
    scenario: Scenario,
    engine: Engine,
    directory: Path,
    *,
    seeds: Sequence[int] | None = None,
    cases: Sequence[str] | None = None,
    jobs: int | None = None,
    dask: str | None = None,
    fail_fast: bool = False,
    again: Collection[str] = (),
    plots: bool = True,
    page: bool = False,
    live: bool = False,
    console: "Console | None" = None,
    heard: "Progress | None" = None,
    progress: "Callable[[Plan], AbstractContextManager[Progress]] | None" = None,
) -> "Study":
    """Plan, execute (on the workers of the Dask scheduler at `dask`, if given), summarise, check, draw.

    Existing runs are kept, except those with a status in `again`. If `live`, only the output of the runs' commands is
    shown, at once. With `page` write `report.html`. `heard` is called with the events of every run, in place of showing
    progress. `progress` shows the progress of the plan, in place of a bar or lines on the console. Raises
    ScenarioError, StoreError (PlanMismatchError), EngineError.
    """
    if dask is not None:
        _require_cluster()
    refuse_withheld(scenario, engine)
    plan = make_plan(scenario, seeds, cases, identity_of(engine, scenario))
    refuse_unshowable(plan, exact=engine.capabilities.exact)
    notes = refuse_unsupported(plan, engine)
    if dask is None:
        note_warnings(engine, console)
    at_once = jobs or len(processors())
    say_notes([*notes, *room_notes(plan, directory, at_once, exact=engine.capabilities.exact)], console)
    files = named_files(scenario)
    with begin_result(
        directory,
        scenario_toml=scenario.source.text,
        plan=plan_json(plan, engine.spec.name, seeds, cases),
        manifest=manifest(engine.spec.name, engine.own_identity, sys.argv),
    ) as result:
        keep_files(files, result)
        with helpers() as at_hand:

            def hearer() -> "AbstractContextManager[Progress]":
                if heard or live:
                    return nullcontext(heard or _silent)
                return progress(plan) if progress else _progress(plan, console, result)

            def prepare() -> None:
                """Load the modules that evaluate and draw, here and in the helpers."""
                if plots:
                    at_hand.start(helpers_for_runs(len(plan)))
                from netwarp.steps.evaluation import load_drawing

                if plots:
                    load_drawing()

            with hearer() as hears:
                local = partial(execute, jobs=jobs, live=live, spare=prepare)
                make = local if dask is None else _on_cluster(dask, console)
                execution = make(plan, engine, result, fail_fast=fail_fast, again=again, progress=hears)
            # Imported only now, after the runs are made.
            from netwarp.steps.evaluation import evaluate
            from netwarp.steps.notebook import Result

            shown = console or _terminal()
            study = evaluate(Result(result.path), scenario, execution, plots=plots, page=page, console=shown)
            return replace(study, notes=tuple(notes))


def note_warnings(engine: Engine, console: "Console | None") -> None:
    """Print the warnings for users of this engine on this machine. Raises EngineError."""
    notes = list(engine.warnings)
    if not engine.capabilities.exact:
        notes.insert(
            0,
            f'the engine "{engine.spec.name}" samples, and makes no exact records: metrics that need them are absent '
            "(docs/host.md)",
        )
    say_notes(notes, console)


def say_notes(notes: Sequence[str], console: "Console | None") -> None:
    """Print notes on the scenario that is going to be run."""
    for sentence in notes:
        shown = console or _terminal()
        shown.print(f"note: {sentence}", style="yellow", markup=False, highlight=False, soft_wrap=True)


def _terminal() -> "Console":
    # Imported lazily: a live command, of which only the output is shown, needs no console before it has ended.
    from netwarp.common.terminal import Terminal

    return Terminal(stderr=True)


def _progress(plan: Plan, console: "Console | None", result: ResultWriter) -> "RunProgress":
    # Imported lazily, as above.
    from netwarp.execute.progress import RunProgress

    def printed(run: Run) -> Iterator[str]:
        """The last lines of a command's output."""
        return excerpt(result.run_path(run.id), _EXCERPT_LINES)

    return RunProgress(plan, console or _terminal(), printed)


def _silent(event: RunEvent, run: Run, outcome: Outcome | None) -> None:
    """Progress of which nothing is shown."""


def _require_cluster() -> None:
    """Raise EngineError unless the packages of the extra `cluster` are installed."""
    if find_spec("distributed") is None:
        raise EngineError(
            "Runs on the workers of a Dask scheduler need the package distributed, which is not installed. "
            "Install it: pip install 'netwarp[cluster]'"
        )


def _on_cluster(address: str, console: "Console | None") -> Callable[..., Execution]:
    # Imported lazily: it takes a second to load.
    from netwarp.execute.cluster import execute_on_cluster

    shown = console or _terminal()

    def report(text: str) -> None:
        shown.print(text, markup=False, highlight=False, soft_wrap=True)

    return partial(execute_on_cluster, address=address, report=report)
