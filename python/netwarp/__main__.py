"""The entry point of the command `netwarp`, for `python -m netwarp` and the installed script."""

import os
import signal


def main() -> None:
    """Load the command line and run it.

    A signal while modules are loaded ends the process at once, since there is nothing to clean up. A KeyboardInterrupt
    would be raised in the module that is being loaded.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _end)
    from netwarp import cli  # noqa: PLC0415

    cli.main()


def _end(*_: object) -> None:
    os._exit(128 + signal.SIGINT)


if __name__ == "__main__":
    main()
