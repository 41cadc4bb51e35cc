"""The entry point of the command `netwarp`, for `python -m netwarp` and the installed script."""

import atexit
import contextlib
import os
import signal
import sys
import threading
from typing import NoReturn

from netwarp.common.platforms import wrong_system

_ENVIRONMENT = 4
"""The exit code of `netwarp.cli.common`, which only Linux can load."""


def main() -> None:
    """Load the command line and run it; on another system than Linux, say that netwarp does not work there.

    A signal while modules are loaded ends the process at once, since there is nothing to clean up. A KeyboardInterrupt
    would be raised in the module that is being loaded.
    """
    if reason := wrong_system():
        sys.stderr.write(f"error: {reason}\n")
        sys.exit(_ENVIRONMENT)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _end)
    from netwarp import cli  # noqa: PLC0415

    cli.main()


def program() -> NoReturn:
    """Run the command line as the whole program `netwarp`, which ends at once after it.

    Python would first take apart a thousand modules and all that they hold, which takes longer than a short command.
    """
    code = 0
    try:
        main()
    except SystemExit as end:
        if not isinstance(end.code, int) or not _may_end_at_once():
            raise
        code = end.code
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):  # closed, or not read any more: its command has said so
            stream.flush()
    os._exit(code)


def _may_end_at_once() -> bool:
    """Whether no thread has to be waited for, and no profiler or tracer reports at the end."""
    return threading.active_count() == 1 and sys.getprofile() is None and sys.gettrace() is None


def _end(*_: object) -> None:
    os._exit(128 + signal.SIGINT)


if __name__ == "__main__":
    program()
