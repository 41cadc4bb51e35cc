"""The command line. No logic: each command parses, calls, prints, and turns errors into sentences and exit codes.

docs/commands.md lists the exit codes; `common.py` has their names.
"""

import contextlib
import gc
import os
import signal
import stat
import sys
from typing import TYPE_CHECKING, NoReturn

from netwarp import c_source
from netwarp.cli.application import ASK_FOR_COMPLETION, COMMANDS, application
from netwarp.cli.common import ABORT, CLOSED_PIPE, ENVIRONMENT, INTERRUPTED, OK, USAGE, fail, say
from netwarp.studies import registry
from netwarp.studies.base import StudyError
from netwarp.words import tolerate

if TYPE_CHECKING:
    from cyclopts import App

    from netwarp.module import Module


def main() -> NoReturn:
    """Run the command `netwarp`, for `netwarp.__main__`."""
    tolerate(sys.stdout, sys.stderr)
    _prepare_loading()
    c_source.read_binary = _read_binary
    from cyclopts.exceptions import CycloptsError

    try:
        if sys.argv[1:] == [ASK_FOR_COMPLETION]:
            from netwarp.cli.completion import answer

            answer()
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
