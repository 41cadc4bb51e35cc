"""`netwarp exec`: any command in a fresh machine, in virtual time."""

import os
import re
import sys
from pathlib import Path
from typing import Annotated, NoReturn

from cyclopts import Parameter

from netwarp.cli import values
from netwarp.cli.common import (
    CLOSED_PIPE,
    FAILED_EXPECTATION,
    FAILED_RUN,
    INTERRUPTED,
    OK,
    USAGE,
    errors,
    positive,
    say,
)
from netwarp.cli.options import Engine, Flag, Jobs, Kernel, Output, Read, Seeds, Several
from netwarp.store.run_status import RunStatus

_COMMA = re.compile(r"(?<!\\),")


def exec_(
    *command: Annotated[str, Parameter(allow_leading_hyphen=True)],
    output: Output = None,
    seed: int | None = None,
    seeds: Seeds = None,
    env: Several = None,
    memory: str | None = None,
    time_limit: str | None = None,
    timeout: str | None = None,
    keep: str | None = None,
    record: Annotated[str | None, Parameter(completer=values.one_of("packets", "acks", "none"))] = None,
    rate: str | None = None,
    start_time: str | None = None,
    syscall_time: str | None = None,
    compute_time: str | None = None,
    clock_offset: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None,
    confine: Flag = False,
    read: Read = None,
    jobs: Jobs = None,
    engine: Engine = None,
    kernel: Kernel = None,
    dask: str | None = None,
    retry_failed: Flag = False,
    junit: Path | None = None,
) -> int:
    """Run any command as root in a fresh machine, in virtual time: netwarp exec [OPTIONS] -- COMMAND [ARG...]

    The command sees the host's files and may change them, in a layer that is discarded. Changes below the current
    directory are kept in the result. See docs/exec.md.

    Parameters
    ----------
    command
        The program and its arguments, after `--`.
    output
        Where the result goes; default results/exec-<program>-<UTC>. A result with the same plan is resumed.
    seed
        The seed of all randomness in the machine; default: 1.
    seeds
        Run it with the seeds 1 to N.
    env
        NAME=VALUE sets a variable of its environment; NAME=A,B,C runs it with each value. May be given several
        times. A comma within a value is written `\\,`.
    memory
        Memory of the machine, such as 512M; default: 1G.
    time_limit
        Limit of real time, such as 30s; default: 10min. Time in which a busy host gives the machine no processor does
        not count.
    timeout
        Limit of virtual time, such as 90s, after which the run fails; default: a day.
    keep
        Maximum size that is kept of each output stream, and of all files that the command leaves, such as 4G;
        default: 1G.
    record
        What is recorded of its network: packets (with ACKs; the default), acks, or none.
    rate
        Rate of each veth and loopback that has no other; default: 10gbit; "unlimited" means no rate.
    start_time
        How long each program takes to start, drawn from the seed: "X to Y" (uniform), "X exponential", X, or 0;
        default: "0.3ms to 1ms".
    syscall_time
        How long each system call takes, such as 300ns; default: no time.
    compute_time
        "host": computing takes the time that the host's processor takes for it. Such a run cannot be repeated.
        Default: no time.
    clock_offset
        How far CLOCK_REALTIME of each network namespace but the first is ahead, drawn from the seed: "X to Y" (uniform,
        such as "-10ms to 10ms"), X, or 0; default: 0.
    confine
        Let the command read only what a scenario's programs may read, not everything that you may (SECURITY.md).
    read
        With --confine: a file or directory that the command may read as well; may be given several times.
    engine
        The engine that executes the runs; default: uml.
    dask
        Address of a Dask scheduler whose workers execute the runs.
    retry_failed
        When resuming, repeat failed runs.
    junit
        Write the verdict on each run, and on each of the command's own tests that it reports as TAP or KTAP, to this
        file as JUnit XML, for CI systems.
    """
    with errors():
        from netwarp.engines import EngineOptions, find_engine
        from netwarp.scenario.load.command import command_scenario
        from netwarp.steps.study import make_study
        from netwarp.store.making import new_directory

        if not command:
            _refuse("there is no command; write `netwarp exec -- COMMAND [ARG...]`")
        positive("--seeds", seeds)
        positive("--jobs", jobs)
        if seed is not None and seeds is not None:
            _refuse("--seed and --seeds are both given; --seed runs once, --seeds N runs with the seeds 1 to N")
        fixed, varied = _variables(env or ())
        scenario = command_scenario(
            command,
            Path.cwd(),
            env={**_own_variables(), **fixed},
            varied=varied,
            seeds=range(1, seeds + 1) if seeds else (1 if seed is None else seed,),
            run=_given(memory=memory, time_limit=time_limit, keep=keep),
            machine=_given(
                record=record,
                rate=rate,
                start_time=start_time,
                syscall_time=syscall_time,
                compute_time=compute_time,
                clock_offset=clock_offset,
            ),
            timeout=timeout,
        )
        granted = tuple(read or ()) if confine else (Path("/"),)
        live = dask is None and len(scenario.seeds) == 1 and not varied
        study = make_study(
            scenario,
            find_engine(engine, EngineOptions(kernel=kernel, read=granted)),
            output or new_directory(scenario.name),
            jobs=jobs,
            dask=dask,
            again=(RunStatus.FAILED,) if retry_failed else (),
            plots=False,
            live=live,
        )
        say(f"result: {study.path}")
        if study.execution.interrupted:
            return INTERRUPTED
        if junit is not None:
            _write_junit(study.path, junit)
        return code_of_one(study.path) if live else (FAILED_RUN if study.failed else OK)


_SIGNALLED = 128
"""An exit code above it is 128 plus the number of the signal that ended the command."""


def code_of_one(directory: Path) -> int:
    """Return the exit code of the command of a result's only run, or netwarp's own if the command has none."""
    from netwarp.engines.reports import End
    from netwarp.store.result import open_result

    result = open_result(directory)
    status = result.run(result.planned[0].id).status()
    code, reason = status.get("exit_code"), status.get("reason")
    for note in status.get("notes", []):
        say(f"note: {note}", style="yellow")
    if reason and (not status.get("by_exit_code") or (code or 0) > _SIGNALLED):
        say(f"error: {reason}", style="red")
    if code is not None:
        tests_failed = status.get("tests", {}).get("failed")
        failed = FAILED_EXPECTATION if tests_failed else FAILED_RUN
        return int(code) or (failed if status["status"] == RunStatus.FAILED else OK)
    if status.get("end") == End.OUTPUT_CLOSED:
        return CLOSED_PIPE
    return FAILED_RUN


def _write_junit(directory: Path, file: Path) -> None:
    from netwarp.exports.junit import exec_junit
    from netwarp.store.files import write_text
    from netwarp.store.result import open_result

    write_text(file, exec_junit(open_result(directory)))


def _variables(given: "list[str] | tuple[()]") -> tuple[dict[str, str], dict[str, list[str]]]:
    """Return the variables that `--env` sets, and those that it varies."""
    fixed: dict[str, str] = {}
    varied: dict[str, list[str]] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name:
            _refuse(f"--env {text}: this is not NAME=VALUE")
        if name in fixed or name in varied:
            _refuse(f"--env {name} is given twice; write its values together: --env {name}=A,B")
        values = [part.replace("\\,", ",") for part in _COMMA.split(value)]
        if len(values) == 1:
            fixed[name] = values[0]
        else:
            varied[name] = values
    return fixed, varied


def _given(**options: str | int | None) -> dict[str, str | int]:
    """Return the options that were given."""
    return {name: value for name, value in options.items() if value is not None}


def _own_variables() -> dict[str, str]:
    """Return the user's PATH and HOME, which decide which programs and settings a command finds."""
    from netwarp.values.constants import SEARCH_PATH

    own = [place for place in os.environ.get("PATH", "").split(":") if place.startswith("/")]
    found = {"PATH": ":".join(dict.fromkeys([*own, *SEARCH_PATH.split(":")]))}
    home = os.environ.get("HOME", "")
    return found | ({"HOME": home} if Path(home).is_absolute() and Path(home).is_dir() else {})


def _refuse(text: str) -> NoReturn:
    say(f"error: {text}", style="red")
    sys.exit(USAGE)
