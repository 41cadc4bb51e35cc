"""`netwarp shell`: a prompt in the network of a scenario, in virtual time."""

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, NoReturn

from cyclopts import Parameter

from netwarp.cli import values
from netwarp.cli.common import INTERRUPTED, USAGE, errors, say
from netwarp.cli.exec import code_of_one
from netwarp.cli.options import Flag, Kernel, Output, Read, Scenario, Settings

OTHERWISE = "/lab"
"""The directory in which a session starts if it may not read the current one."""


def shell(
    scenario: Scenario,
    /,
    *,
    node: Annotated[str | None, Parameter(completer=values.nodes)] = None,
    set_: Settings = None,
    case: Annotated[str | None, Parameter(completer=values.cases)] = None,
    seed: int | None = None,
    flows: Flag = False,
    pace: float | None = None,
    output: Output = None,
    read: Read = None,
    kernel: Kernel = None,
) -> int:
    """Work in the network of a scenario: a prompt in one of its nodes. Time passes only while commands wait.

    If standard input is not a terminal, it is read as a script. See docs/shell.md.

    Parameters
    ----------
    scenario
        A shipped scenario's name or a file. If it has a sweep, its first point is used, unless --set gives another.
    node
        The node in which the shell starts; default: the first. `on NODE COMMAND` runs a command in another node.
    set_
        PATH=VALUE replaces a value, as in `netwarp run`.
    case
        The case of the scenario; default: the first.
    seed
        The seed of all randomness in the machine; default: the scenario's first.
    flows
        Start the scenario's flows and changes with the session.
    pace
        At a terminal: the maximum number of seconds of virtual time in one second of real time; default: no limit.
    output
        Record the session as a result in this directory.
    read
        A file or directory that the session may read, in addition to the system's and the scenario's (SECURITY.md); may
        be given several times.
    """
    with errors():
        from netwarp.engines import EngineOptions, find_engine
        from netwarp.scenario.load.session import session_scenario
        from netwarp.steps.study import make_study

        script = _script()
        if pace is not None and (script is not None or pace <= 0):
            _refuse("--pace is a positive number of seconds, for a session at a terminal")
        granted = tuple(read or ())
        terminal = {"TERM": os.environ.get("TERM", "dumb")} if script is None else {}
        loaded = session_scenario(
            scenario,
            set_ or (),
            node=node,
            script=script,
            flows=flows,
            recorded=output is not None,
            directory=_directory(scenario, granted),
            env=terminal,
            pace=pace,
            seed=seed,
        )
        engine = find_engine(None, EngineOptions(kernel=kernel, read=granted))
        if loaded.sweep:
            point = ", ".join(f"{path} = {values[0]}" for path, values in loaded.sweep.items())
            say(f"the first point of its sweep: {point}; --set gives another")
        if script is None and output is not None and output.exists():
            _refuse(f"{output} exists already, and an interactive session cannot be resumed; give another name")
        with _result(output) as directory:
            study = make_study(
                loaded,
                engine,
                directory,
                cases=[case] if case else [loaded.cases[0].name] if loaded.cases else None,
                plots=False,
                live=True,
            )
            if output is not None:
                say(f"result: {study.path}")
            if study.execution.interrupted or not (study.execution.done or study.execution.kept):
                return INTERRUPTED
            return code_of_one(study.path)


def _script() -> str | None:
    """Return standard input as text; None if it is a terminal."""
    if sys.stdin is None:
        _refuse("there is no standard input; give it commands, or a terminal")
    if not sys.stdin.isatty():
        try:
            return sys.stdin.buffer.read().decode()
        except UnicodeDecodeError:
            _refuse("the commands from standard input are not text in UTF-8")
    if not sys.stdout.isatty():
        _refuse("standard input is a terminal and standard output is not; give the commands on standard input")
    return None


def _directory(scenario: str, granted: tuple[Path, ...]) -> str:
    """Return the directory in which the session starts: the current one if it may read it, otherwise OTHERWISE."""
    from netwarp.values.private import is_private

    folder = Path(scenario).absolute().parent
    readable = [*granted, *([folder] if Path(scenario).is_file() and not is_private(folder) else [])]
    here = Path.cwd()
    return str(here) if any(here.resolve().is_relative_to(path.resolve()) for path in readable) else OTHERWISE


@contextlib.contextmanager
def _result(output: Path | None) -> Iterator[Path]:
    """Yield the result's directory: `output`, or a temporary one if the session is not recorded."""
    from netwarp.common.scratch import RUNS, scratch

    if output is not None:
        yield output
        return
    with scratch(RUNS) as directory:
        yield directory / "session"


def _refuse(text: str) -> NoReturn:
    say(f"error: {text}", style="red")
    sys.exit(USAGE)
