"""The command line. No logic: each command parses, calls, prints, and turns errors into sentences and exit codes.

README.md lists the exit codes; `common.py` has their names.
"""

import contextlib
import gc
import os
import signal
import stat
import sys
from collections.abc import Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn

from netwarp import c_source
from netwarp.cli.common import ABORT, CLOSED_PIPE, ENVIRONMENT, INTERRUPTED, OK, USAGE, fail, say, unwrapped
from netwarp.studies import registry
from netwarp.studies.base import StudyError
from netwarp.words import tolerate

if TYPE_CHECKING:
    from cyclopts import App

    from netwarp.module import Module

COMMANDS = {
    "advise": "advise:advise",
    "agree": "agreement:agree",
    "bisect": "bisect:bisect",
    "compare": "compare:compare",
    "dev": "dev:dev",
    "doctor": "doctor:doctor",
    "exec": "exec:exec_",
    "explain": "explain:explain",
    "export": "export:export",
    "import": "imports:import_",
    "kernel": "kernel:kernel_app",
    "list": "scenarios:list_",
    "new": "scenarios:new",
    "pcap": "agent:pcap_app",
    "plot": "results:plot",
    "report": "results:report",
    "rerun": "results:rerun",
    "run": "run:run",
    "schema": "scenarios:schema",
    "serve": "serve:serve",
    "shell": "shell:shell",
    "show": "scenarios:show",
    "watch": "agent:watch_app",
    "whatif": "explain:whatif",
}
"""Those of no study, each with its module of this folder, and its name there: one that is given is imported without the
others."""


def _version() -> str:
    from importlib.metadata import version

    return version("netwarp")


def commands() -> list[str]:
    """The names of all commands, those of studies last."""
    return list(dict.fromkeys([*COMMANDS, *registry.names("commands")]))


def application(names: Iterable[str] | None = None) -> "App":
    """The command line with these commands; None: with all, but for those of a study that cannot be loaded.

    Raises StudyError for a command of a study that was asked for by name and cannot be loaded.
    """
    from cyclopts import App, Parameter

    app = App(
        name="netwarp",
        help="A laboratory for network congestion: the real Linux network stack in virtual time.",
        version=_version,
        help_format="plaintext",
        default_parameter=Parameter(accepts_keys=False),  # no value has parts of its own, which would be looked for
    )
    for name in commands() if names is None else names:
        try:
            command = _command(name)
        except StudyError as error:
            if names is not None:
                raise
            say(f"note: {error}", style="yellow")
            continue
        app.command(command if isinstance(command, App) else unwrapped(command), name=name)
    return app


def _command(name: str) -> Any:
    if name not in COMMANDS:
        return registry.load("commands", name)
    module, _, attribute = COMMANDS[name].partition(":")
    return getattr(import_module(f"netwarp.cli.{module}"), attribute)


def main() -> NoReturn:
    """Run the command `netwarp`, for `netwarp.__main__`."""
    tolerate(sys.stdout, sys.stderr)
    _prepare_loading()
    c_source.read_binary = _read_binary
    from cyclopts.exceptions import CycloptsError

    try:
        app = _application()
        _become_interruptible()
        code = app(sys.argv[1:], exit_on_error=False, print_error=True)
    except CycloptsError:
        code = ABORT if sys.argv[1:2] == ["bisect"] else USAGE
    except KeyboardInterrupt:
        say("interrupted")
        code = INTERRUPTED
    except BrokenPipeError:
        code = CLOSED_PIPE
    sys.exit(_flushed(code if isinstance(code, int) else OK))


def _application() -> "App":
    """The command line with the command that was given, or with all if there is none of that name."""
    given = sys.argv[1:2]
    if given and (given[0] in COMMANDS or given[0] in registry.names("commands")):
        try:
            return application(given)
        except StudyError as error:
            fail(error, ENVIRONMENT)
    for sentence in registry.unloadable():
        say(f"note: {sentence}", style="yellow")
    return application()


def _become_interruptible() -> None:
    """Let a signal interrupt what the command does, with everything cleaned up."""
    for number, handler in ((signal.SIGINT, _interrupt), (signal.SIGTERM, _interrupt), (signal.SIGHUP, _hang_up)):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup(1) and background jobs of sh have it
            signal.signal(number, handler)


def _prepare_loading() -> None:
    """What has to be set before anything is loaded, which is most of the time that a command takes to start."""
    # What is loaded stays. At the usual 700 objects the collector looks through all of it again and again.
    gc.set_threshold(100_000)
    # pydantic would read what every installed package says of itself, in search of plug-ins, of which none is wanted.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")


def _read_binary(module: "Module") -> c_source.Registered:
    from netwarp.kernels.modules import registered_in_binary

    return registered_in_binary(module)


def _flushed(code: int) -> int:
    """The exit code, once all output is written; CLOSED_PIPE if its reader has gone."""
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError:
        code = CLOSED_PIPE
    if code == CLOSED_PIPE:
        # What is left in the buffers must not fail once more when Python ends.
        for stream in (sys.stdout, sys.stderr):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    return code


def _hang_up(*_: object) -> None:
    """The terminal is gone: end as if interrupted, and write no more to it. Shells send this signal a second time."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        # What a terminal was is none any more once it has been hung up, but still a character device.
        with contextlib.suppress(OSError):
            if stat.S_ISCHR(os.fstat(descriptor).st_mode):
                os.dup2(nowhere, descriptor)
    os.close(nowhere)
    raise KeyboardInterrupt


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt
