"""`netwarp verify`: measured values beside those of theory, standards and other programs."""

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from netwarp.cli.common import (
    FAILED_EXPECTATION,
    FAILED_RUN,
    INTERRUPTED,
    OK,
    errors,
    positive,
    say,
    stderr,
    write_json,
)
from netwarp.cli.options import Engine, Flag, Jobs, Kernel, Output

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netwarp.verify.verifier import Verified


def verify(
    *rows: str,
    quick: Flag = False,
    complete: Flag = False,
    output: Output = None,
    jobs: Jobs = None,
    engine: Engine = None,
    kernel: Kernel = None,
    json: Flag = False,
    junit: Annotated[Path | None, Parameter(name="--junit")] = None,
) -> int:
    """Measure what theory, standards and other programs say, and how far netwarp is from it.

    Each row has a reference with its source, and a tolerance that was stated before it was measured. Exit code 1 if a
    row misses its reference, 3 if an experiment failed. See docs/verify.md.

    Parameters
    ----------
    rows
        The names of the rows; default: all of the size.
    quick
        Only the rows that take two minutes together.
    complete
        All rows, also those that take long.
    output
        Where the experiments, validation.md with its figure, and validation.json go; default: results/verify-<UTC>.
        Experiments that are there already are not repeated.
    engine
        The engine that executes the runs; default: uml.
    json
        Print the rows as JSON instead of a table.
    junit
        Write the rows to this file as JUnit XML, for CI systems.
    """
    with errors():
        from netwarp.engines import EngineOptions, find_engine
        from netwarp.kernels import find_kernel
        from netwarp.steps.study import make_study
        from netwarp.store.errors import SelectionError
        from netwarp.store.making import new_directory
        from netwarp.verify.families import choose
        from netwarp.verify.row import Size
        from netwarp.verify.verifier import InterruptedByUser
        from netwarp.verify.verifier import verify as measure

        positive("--jobs", jobs)
        if quick and complete:
            raise SelectionError("--quick and --complete are both given; choose one")
        chosen = choose(rows, Size.QUICK if quick else Size.COMPLETE if complete else Size.USUAL)
        found = find_engine(engine, EngineOptions(kernel=kernel))
        place = output or new_directory("verify")
        measured_on = f"Linux {find_kernel(kernel).version}" if found.spec.name == "uml" else "this machine's kernel"
        make = partial(make_study, jobs=jobs, plots=False, console=stderr())
        try:
            verified = measure(chosen, place, lambda scenario, directory: make(scenario, found, directory))
        except InterruptedByUser:
            return INTERRUPTED
        _write(verified, place, junit, measured_on, as_json=json)
        return _code(verified)


def _write(verified: "Sequence[Verified]", place: Path, junit: Path | None, measured_on: str, *, as_json: bool) -> None:
    from netwarp.common.junit import document
    from netwarp.store.files import write_text
    from netwarp.verify.figure import draw
    from netwarp.verify.formats import FIGURE, as_text, json_text, markdown, suites

    draw(verified, place / FIGURE)
    write_text(place / "validation.md", markdown(verified, measured_on))
    write_text(place / "validation.json", f"{json_text(verified)}\n")
    if junit is not None:
        write_text(junit, document("netwarp verify", suites(verified)))
    if as_json:
        write_json(json_text(verified))
    else:
        sys.stdout.write(as_text(verified))
    say(f"page: {place / 'validation.md'}")


def _code(verified: "Sequence[Verified]") -> int:
    """The exit code: a failed experiment outweighs a miss."""
    from netwarp.verify.row import Verdict

    verdicts = {checked.verdict for one in verified for checked in one.rows}
    if Verdict.FAILED in verdicts:
        return FAILED_RUN
    return FAILED_EXPECTATION if Verdict.MISSES in verdicts else OK
