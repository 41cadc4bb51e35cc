"""From a scenario to a result: what `netwarp run` does."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
from rich.console import Console

from netwarp.engines import Engine
from netwarp.execute import Execution, execute
from netwarp.execute.manifest import manifest, plan_json
from netwarp.execute.progress import RunProgress
from netwarp.plan import make_plan
from netwarp.scenario import Scenario
from netwarp.store.result import ResultDir, create_result


@dataclass(frozen=True)
class Study:
    """A finished or interrupted plan: its result directory, what was executed, and the summary's rows."""

    result: ResultDir
    execution: Execution
    summary: pl.DataFrame
    figures: tuple[Path, ...]


def default_directory(scenario: Scenario) -> Path:
    """`results/<name>-<UTC>`"""
    return Path("results") / f"{scenario.name}-{datetime.now(UTC):%Y%m%dT%H%M%SZ}"


def make_study(
    scenario: Scenario,
    engine: Engine,
    directory: Path,
    *,
    seeds: Sequence[int] | None = None,
    cases: Sequence[str] | None = None,
    jobs: int | None = None,
    fail_fast: bool = False,
    retry_failed: bool = False,
    plots: bool = True,
    console: Console | None = None,
) -> Study:
    """Plan, execute, summarise, draw. Raises ScenarioError, StoreError (PlanMismatchError)."""
    console = console or Console(stderr=True)
    plan = make_plan(scenario, seeds, cases, engine.identity)
    with create_result(
        directory,
        scenario_toml=scenario.source.text,
        plan=plan_json(plan, engine),
        manifest=manifest(engine, sys.argv),
    ) as result:
        with RunProgress(plan, console) as progress:
            execution = execute(
                plan, engine, result, jobs=jobs, fail_fast=fail_fast, retry_failed=retry_failed, progress=progress
            )
        summary = result.write_summary()
        figures = _draw(result, summary, console) if plots and not execution.interrupted else ()
    return Study(result, execution, summary, figures)


def _draw(result: ResultDir, summary: pl.DataFrame, console: Console) -> tuple[Path, ...]:
    if summary["value"].is_null().all():
        return ()
    # Lazily: matplotlib takes longer to import than a short run takes to run.
    from netwarp.plots import plot_result

    with console.status("drawing"):
        return tuple(plot_result(result.path))
