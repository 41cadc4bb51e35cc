"""The entry point of the command `netwarp`, for `python -m netwarp` and the installed script."""

import os
import signal
import sys

from netwarp.common.platforms import wrong_system

_ENVIRONMENT = 4
"""As in `netwarp.cli.common`, which only Linux can load."""


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


def _end(*_: object) -> None:
    os._exit(128 + signal.SIGINT)


if __name__ == "__main__":
    main()
