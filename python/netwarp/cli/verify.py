"""`netwarp verify`: measured values beside those of theory, standards and other programs."""

import platform
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

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

    from netwarp.verify.against import Earlier
    from netwarp.verify.setting import Setting
    from netwarp.verify.verifier import Verified


def verify(
    *rows: str,
    quick: Flag = False,
    complete: Flag = False,
    noise: Flag = False,
    wire: Annotated[Literal["device", "netem"], Parameter(name="--wire")] = "device",
    against: Annotated[Path | None, Parameter(name="--against")] = None,
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
    noise
        With a jitter of 10 µs to 1 ms on every link. Rows whose values depend on exact times say so.
    wire
        What carries the packets of links that do not say it: with `netem`, no link is a device (docs/wires.md).
    against
        The validation.json of another result: also print which rows have moved since then.
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
        from netwarp.store.held import refuse_other
        from netwarp.store.making import new_directory
        from netwarp.verify.against import rows_of
        from netwarp.verify.families import choose
        from netwarp.verify.meter import Meter
        from netwarp.verify.row import Size
        from netwarp.verify.setting import Setting
        from netwarp.verify.verifier import InterruptedByUser
        from netwarp.verify.verifier import verify as measure

        positive("--jobs", jobs)
        if quick and complete:
            raise SelectionError("--quick and --complete are both given; choose one")
        chosen = choose(rows, Size.QUICK if quick else Size.COMPLETE if complete else Size.USUAL)
        earlier = rows_of(against, [row.name for _, row in chosen]) if against else None
        found = find_engine(engine, EngineOptions(kernel=kernel))
        place = output or new_directory("verify")
        release = find_kernel(kernel).version if found.spec.name == "uml" else platform.release()
        setting = Setting(release, noise, netem=wire == "netem")
        refuse_other(place / "validation.json", setting.head)
        begun = time.monotonic()
        with Meter(stderr()) as meter:
            make = partial(make_study, jobs=jobs, plots=False, console=stderr(), heard=meter.heard)
            try:
                verified = measure(
                    chosen, place, lambda scenario, folder: make(scenario, found, folder), setting, meter.begun
                )
            except InterruptedByUser:
                return INTERRUPTED
        _write(verified, setting, place, junit, as_json=json)
        if earlier is not None:
            _compare(verified, f"{against}", earlier, as_json=json)
        say(f"page: {place / 'validation.md'}; {time.monotonic() - begun:.0f} s")
        return _code(verified)


def _write(
    verified: "Sequence[Verified]", setting: "Setting", place: Path, junit: Path | None, *, as_json: bool
) -> None:
    from netwarp.common.junit import document
    from netwarp.store.files import write_text
    from netwarp.verify.figure import draw
    from netwarp.verify.formats import FIGURE, as_text, json_text, markdown, suites

    draw(verified, place / FIGURE)
    write_text(place / "validation.md", markdown(verified, setting))
    write_text(place / "validation.json", f"{json_text(verified, setting)}\n")
    if junit is not None:
        write_text(junit, document("netwarp verify", suites(verified)))
    if as_json:
        write_json(json_text(verified, setting))
    else:
        sys.stdout.write(as_text(verified))


def _compare(verified: "Sequence[Verified]", other: str, earlier: "Earlier", *, as_json: bool) -> None:
    """Print which rows have moved: to standard output, unless JSON is there."""
    from netwarp.verify.against import moved

    found, judged = moved(verified, earlier)
    head = f"{len(found)} of {judged} rows" if judged else "neither result has judged a row that both have"
    lines = [f"moved against {other}: {head}", *(f"  {one.words}" for one in found)]
    if as_json:
        say("\n".join(lines))
    else:
        sys.stdout.write("\n".join(lines) + "\n")


def _code(verified: "Sequence[Verified]") -> int:
    """The exit code: a failed experiment outweighs a miss."""
    from netwarp.verify.row import Verdict

    verdicts = {checked.verdict for one in verified for checked in one.rows}
    if Verdict.FAILED in verdicts:
        return FAILED_RUN
    return FAILED_EXPECTATION if Verdict.MISSES in verdicts else OK
