"""`netwarp suite`: the tests that RFCs ask of a congestion control or a queue."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from netwarp.cli import values
from netwarp.cli.common import (
    FAILED_EXPECTATION,
    FAILED_RUN,
    INTERRUPTED,
    OK,
    errors,
    positive,
    say,
    stderr,
    unwrapped,
    write_json,
)
from netwarp.cli.options import SEVERAL, Jobs, Kernel, Output

if TYPE_CHECKING:
    from netwarp.suite.case import Subject, Suite
    from netwarp.suite.runner import Assessment

suite_app = App(
    name="suite",
    help="Put a congestion control or a queue through the tests that RFCs ask for, beside known ones.",
    help_format="plaintext",
)
_USUAL_SEEDS, _QUICK_SEEDS = 3, 2

_Queue = Annotated[
    list[str],
    Parameter(negative=(), help=f'A queue with its options, in tc\'s syntax, such as "pie target 15ms"; {SEVERAL}.'),
]
_Module = Annotated[
    list[str] | None,
    Parameter(
        negative=(),
        help=f"The C file of a module that the queue needs; {SEVERAL}. Modules that come with netwarp are found by the "
        "queue's name.",
    ),
]
_Cases = Annotated[str | None, Parameter(help="Only these cases or groups, by name, separated by commas.")]
_Quick = Annotated[bool, Parameter(negative=(), help="Only the cases that take a minute together, with 2 seeds.")]
_Seeds = Annotated[int | None, Parameter(help="Run with the seeds 1 to N; default: 3.")]
_Keep = Annotated[bool, Parameter(negative=(), help="Keep the cases' results with all records, some MB for each run.")]
_Json = Annotated[bool, Parameter(negative=(), help="Print the measures as JSON.")]
_Junit = Annotated[
    Path | None, Parameter(name="--junit", help="Write the verdicts to this file as JUnit XML, for CI systems.")
]


@dataclass(frozen=True)
class _Asked:
    """The options that all commands have."""

    cases: str | None
    quick: bool
    seeds: int | None
    output: Path | None
    keep: bool
    jobs: int | None
    kernel: str | None
    json: bool
    junit: Path | None


@suite_app.command
@unwrapped
def cc(
    *,
    cc: Annotated[list[str], Parameter(negative=(), completer=values.controls)],
    cases: str | None = None,
    quick: _Quick = False,
    seeds: _Seeds = None,
    output: Output = None,
    keep: _Keep = False,
    jobs: Jobs = None,
    kernel: Kernel = None,
    json: _Json = False,
    junit: _Junit = None,
) -> int:
    """Test congestion controls as RFC 9743 asks: alone, among themselves, beside CUBIC, on difficult paths.

    Every case also runs with CUBIC and BBR in the control's place, with the same seeds. A control harms if others lose
    more by it than by CUBIC (R. Ware et al., HotNets 2019). Exit code 1 if one harms or raises a concern, 3 if a run
    failed. See docs/suites.md.

    Parameters
    ----------
    cc
        A congestion control of the kernel, a module's C file or a program, with parameters: yours (file:./x.c,
        program:./x.py) or one of the gallery (file:tcp_copa.c). May be given several times.
    cases
        Only these cases or groups, by name, separated by commas; default: all, and those of BBR's draft for controls
        whose names begin with bbr.
    output
        Where suite.md with its figure, suite.json and the cases' scenarios go; default: results/suite-cc-<UTC>.
    """
    with errors():
        from netwarp.suite.suites import CONTROLS, controls

        asked = _Asked(cases, quick, seeds, output, keep, jobs, kernel, json, junit)
        return _run(CONTROLS, controls(cc), asked)


@suite_app.command
@unwrapped
def aqm(
    *,
    queue: _Queue,
    module: _Module = None,
    cases: _Cases = None,
    quick: _Quick = False,
    seeds: _Seeds = None,
    output: Output = None,
    keep: _Keep = False,
    jobs: Jobs = None,
    kernel: Kernel = None,
    json: _Json = False,
    junit: _Junit = None,
) -> int:
    """Test queues as RFC 7928 asks: kinds of senders, RTTs, bursts, levels of congestion, changes, mixtures.

    Every case also runs with tail drop and with fq_codel in the queue's place, with the same seeds. Exit code 1 if a
    queue is worse than tail drop somewhere, 3 if a run failed. See docs/suites.md.

    Parameters
    ----------
    output
        Where suite.md with its figure, suite.json and the cases' scenarios go; default: results/suite-aqm-<UTC>.
    """
    with errors():
        from netwarp.suite.suites import QUEUES, queues, with_modules

        asked = _Asked(cases, quick, seeds, output, keep, jobs, kernel, json, junit)
        subjects = queues(queue)
        return _run(with_modules(QUEUES, subjects, module or ()), subjects, asked)


@suite_app.command
@unwrapped
def media(
    *,
    queue: _Queue,
    module: _Module = None,
    cases: _Cases = None,
    quick: _Quick = False,
    seeds: _Seeds = None,
    output: Output = None,
    keep: _Keep = False,
    jobs: Jobs = None,
    kernel: Kernel = None,
    json: _Json = False,
    junit: _Junit = None,
) -> int:
    """Test queues with calls as RFC 8867 asks: capacity that varies, streams among themselves and beside TCP.

    The calls are video with Google Congestion Control. Every case also runs with tail drop of 300 ms and with fq_codel
    in the queue's place, with the same seeds. Exit code 1 if a queue is worse than tail drop somewhere, 3 if a run
    failed. See docs/suites.md.

    Parameters
    ----------
    output
        Where suite.md with its figure, suite.json and the cases' scenarios go; default: results/suite-media-<UTC>.
    """
    with errors():
        from netwarp.suite.suites import CALLS, queues, with_modules

        asked = _Asked(cases, quick, seeds, output, keep, jobs, kernel, json, junit)
        subjects = queues(queue)
        return _run(with_modules(CALLS, subjects, module or ()), subjects, asked)


def _run(suite: "Suite", subjects: "Sequence[Subject]", asked: _Asked) -> int:
    from netwarp.engines import EngineOptions, find_engine
    from netwarp.kernels import find_kernel
    from netwarp.steps.study import make_study
    from netwarp.store.held import refuse_other
    from netwarp.store.making import new_directory
    from netwarp.suite.formats import head_of
    from netwarp.suite.runner import run
    from netwarp.suite.suites import choose, names_in
    from netwarp.verify.verifier import InterruptedByUser

    positive("--jobs", asked.jobs)
    positive("--seeds", asked.seeds)
    chosen = choose(suite, subjects, names_in(asked.cases), quick=asked.quick)
    engine = find_engine(None, EngineOptions(kernel=asked.kernel))
    place = asked.output or new_directory(f"suite-{suite.name}")
    seeds = asked.seeds or (_QUICK_SEEDS if asked.quick else _USUAL_SEEDS)
    release = find_kernel(asked.kernel).version
    refuse_other(place / "suite.json", head_of(suite, subjects, [case for _, case in chosen], seeds, release))
    make = partial(make_study, engine=engine, jobs=asked.jobs, plots=False, console=stderr())
    try:
        assessment = run(
            suite,
            chosen,
            subjects,
            place,
            lambda one, there: make(one, directory=there),
            seeds=seeds,
            keep=asked.keep,
        )
    except InterruptedByUser:
        return INTERRUPTED
    _write(assessment, place, asked, release)
    return _code(assessment)


def _write(assessment: "Assessment", place: Path, asked: _Asked, release: str) -> None:
    from netwarp.common.junit import document
    from netwarp.store.files import write_text
    from netwarp.suite.figure import draw
    from netwarp.suite.formats import as_text, json_text, junit
    from netwarp.suite.page import FIGURE, markdown

    draw(assessment, place / FIGURE)
    write_text(place / "suite.md", markdown(assessment, f"Linux {release}"))
    write_text(place / "suite.json", f"{json_text(assessment, release)}\n")
    if asked.junit is not None:
        write_text(asked.junit, document(f"netwarp suite {assessment.suite.name}", junit(assessment)))
    if asked.json:
        write_json(json_text(assessment, release))
    else:
        sys.stdout.write(as_text(assessment))
    say(f"page: {place / 'suite.md'}")


def _code(assessment: "Assessment") -> int:
    """The exit code: a failed run outweighs a concern. The references are not judged."""
    from netwarp.suite.verdict import BAD, Verdict

    verdicts = {one.verdicts[subject.name] for one in assessment.judged for subject in assessment.subjects}
    if Verdict.FAILED in verdicts:
        return FAILED_RUN
    return FAILED_EXPECTATION if verdicts & {*BAD} else OK
