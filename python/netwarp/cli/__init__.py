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

from netwarp.cli.application import ASK_FOR_COMPLETION, COMMANDS, application
from netwarp.cli.common import ABORT, CLOSED_PIPE, ENVIRONMENT, INTERRUPTED, OK, USAGE, fail, say
from netwarp.common.words import tolerate
from netwarp.modules import c_source
from netwarp.studies import registry
from netwarp.studies.base import StudyError

if TYPE_CHECKING:
    from cyclopts import App

    from netwarp.modules.named import Module

_THREADS = "OPENBLAS_NUM_THREADS"


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
    """Return the command line with the command that was given; with all commands if none has that name."""
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
    """Let a signal interrupt the command, with everything cleaned up."""
    for number, handler in ((signal.SIGINT, _interrupt), (signal.SIGTERM, _interrupt), (signal.SIGHUP, _hang_up)):
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup(1) and background jobs of sh ignore it
            signal.signal(number, handler)


def _prepare_loading() -> None:
    """Make loading fast: a command takes most of its start-up time to load modules."""
    # Loaded modules stay. With the default threshold of 700 objects the collector traverses them again and again; a run
    # with its metrics makes 150,000, which it takes 50 ms to traverse.
    gc.set_threshold(300_000)
    # pydantic would read the metadata of every installed package in search of plug-ins, and netwarp uses none.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    # polars' allocator would keep pages that nothing uses, up to 150 MB of them while a long run is read. polars adds
    # these settings to its default ones when it is loaded. What the user has set stays. Programs of a lab do not
    # inherit them (engines/supervisor.py).
    os.environ.setdefault("_RJEM_MALLOC_CONF", "background_thread:true,muzzy_decay_ms:0")
    # numpy's linear-algebra library would start a thread for each CPU, which spins while it waits for work, and netwarp
    # has none for it. This does not change os.environ, which programs of a lab may inherit.
    if _THREADS not in os.environ:
        os.putenv(_THREADS, "1")


def _read_binary(module: "Module") -> c_source.Registered:
    from netwarp.kernels.modules import registered_in_binary

    return registered_in_binary(module)


def _flushed(code: int) -> int:
    """Write all output, and return the exit code; CLOSED_PIPE if the output's reader has gone."""
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError:
        code = CLOSED_PIPE
    if code == CLOSED_PIPE:
        # Python writes the rest of the buffers when it ends, which must not fail again.
        for stream in (sys.stdout, sys.stderr):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    return code


def _hang_up(*_: object) -> None:
    """End as if interrupted, and write no more to the terminal that has gone. Shells send SIGHUP a second time."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        # A terminal that has been hung up is no longer a terminal for isatty(3), but still a character device.
        with contextlib.suppress(OSError):
            if stat.S_ISCHR(os.fstat(descriptor).st_mode):
                os.dup2(nowhere, descriptor)
    os.close(nowhere)
    raise KeyboardInterrupt


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt
