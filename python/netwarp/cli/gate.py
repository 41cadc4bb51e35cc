"""`netwarp gate`: a scenario with a change and without it, for CI systems."""

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from netwarp.cli import values
from netwarp.cli.common import (
    FAILED_EXPECTATION,
    FAILED_RUN,
    INTERRUPTED,
    OK,
    UNDECIDED,
    USAGE,
    errors,
    positive,
    say,
    stderr,
)
from netwarp.cli.options import Engine, Flag, Jobs, Kernel, Output, Read, Scenario, Seeds, Settings

if TYPE_CHECKING:
    from netwarp.steps.gate import Gated

SUMMARY, JUNIT = "summary.md", "netwarp.xml"


def gate(
    scenario: Scenario,
    /,
    *,
    base: str | None = None,
    base_kernel: Annotated[str | None, Parameter(completer=values.kernels)] = None,
    output: Output = None,
    set_: Settings = None,
    seeds: Seeds = None,
    jobs: Jobs = None,
    engine: Engine = None,
    kernel: Kernel = None,
    read: Read = None,
    undecided_passes: Flag = False,
    plots: bool = True,
) -> int:
    """Run a scenario, compare it with its state at a base, and write a summary and JUnit XML, for CI systems.

    Without a base only the scenario's own expectations are checked. Exit code 1 if an expectation fails or something is
    worse than the base, 3 if a run failed, 5 if there are too few seeds to decide. See docs/ci.md.

    Parameters
    ----------
    scenario
        A shipped scenario's name (`netwarp list`) or a file.
    base
        A revision of the scenario's git repository, such as origin/main, whose files are used as they were there; or
        another scenario file; or a result directory.
    base_kernel
        The kernel on which the base is run; default: the same.
    output
        Where head/, base/, summary.md and netwarp.xml go; default: gate-<name>-<UTC> in results/. A directory of the
        same command is resumed.
    set_
        PATH=VALUE replaces a value of the scenario, and of the base's.
    engine
        The engine that executes the runs; default: uml.
    read
        A file or directory that the scenario's programs may read as well; may be given several times.
    undecided_passes
        Exit with 0 instead of 5 if nothing is worse and there are too few seeds to decide.
    plots
        Draw the figures of the scenario's result.
    """
    with errors():
        from netwarp.engines import EngineOptions, find_engine
        from netwarp.scenario import load_scenario
        from netwarp.steps.gate import Base, run_gate
        from netwarp.steps.study import make_study
        from netwarp.store.errors import store_errors
        from netwarp.store.making import new_directory

        positive("--seeds", seeds)
        positive("--jobs", jobs)
        found, before = (
            find_engine(engine, EngineOptions(kernel=name, read=tuple(read or ())))
            for name in (kernel, base_kernel or kernel)
        )
        place = output or new_directory(f"gate-{load_scenario(scenario, set_ or ()).name}")
        with store_errors(place, "create"):
            place.mkdir(parents=True, exist_ok=True)
        against = Base(base, before) if base is not None or base_kernel is not None else None
        numbers = range(1, seeds + 1) if seeds else None
        make = partial(make_study, seeds=numbers, jobs=jobs, plots=plots, console=stderr())
        gated = run_gate(scenario, set_ or (), found, against, place, make=make)
        if gated.study.execution.interrupted:
            return INTERRUPTED
        _write(gated, place)
        return _code(gated, undecided_passes=undecided_passes)


def _write(gated: "Gated", place: Path) -> None:
    """Write the summary and the JUnit XML, and print the summary's place and its verdict."""
    from netwarp.cli.summary import in_markdown
    from netwarp.common.junit import document
    from netwarp.compare.formats import comparison_suite
    from netwarp.compare.render import sentence
    from netwarp.exports.junit import expectations_suite, runs_suite
    from netwarp.store.files import write_text

    suites = [runs_suite(gated.study.result)]
    if gated.study.expectations:
        suites.append(expectations_suite(gated.study.expectations))
    if gated.comparison is not None:
        suites.append(comparison_suite(gated.comparison))
    write_text(place / SUMMARY, in_markdown(gated))
    write_text(place / JUNIT, document("netwarp gate", suites))
    if gated.open:
        say(f"note: not compared: {gated.open}", style="yellow")
    if gated.comparison is not None:
        sys.stdout.write(f"{sentence(gated.comparison)}\n")
    for checked in gated.study.expectations:
        if not checked.ok:
            sys.stdout.write(f"{checked.sentence}\n")
    say(f"summary: {place / SUMMARY}; JUnit XML: {place / JUNIT}")


def _code(gated: "Gated", *, undecided_passes: bool) -> int:
    """The exit code: a failed run outweighs a regression, and this a comparison that cannot be decided."""
    if gated.study.failed:
        return FAILED_RUN
    comparison = gated.comparison
    if not all(checked.ok for checked in gated.study.expectations) or (comparison and comparison.regression):
        return FAILED_EXPECTATION
    if comparison and comparison.undecided:
        return OK if undecided_passes else UNDECIDED
    return USAGE if gated.base is not None and comparison is None else OK
