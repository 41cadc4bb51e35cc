"""`netwarp serve`, and the server that `netwarp run --serve` shares with it."""

import contextlib
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

from netwarp.cli.common import OK, USAGE, errors, fail, say
from netwarp.cli.options import Result

MAX_PORT = 65535
_LOOK_S = 0.2


def serve(directory: Result, /, *, port: int = 0) -> int:
    """Show the results in a directory in a browser, while runs are made and afterwards.

    The server listens on this machine's loopback only, and refuses browsers that have not opened the printed address.
    The pages change nothing. Ctrl-C ends it.

    Parameters
    ----------
    directory
        A result directory, or a directory that has results in it.
    port
        Where to listen; default: a port that is free.
    """
    with errors():
        if not directory.is_dir():
            fail(FileNotFoundError(f"{directory} is not a directory"), USAGE)
        with contextlib.suppress(KeyboardInterrupt), served(directory, port) as address:
            sys.stdout.write(f"{address}\n")
            sys.stdout.flush()
            _wait_for_ever()
    return OK


def _wait_for_ever() -> None:
    """Wait until an interrupt, for short times: polars handles SIGINT so that a system call restarts after it."""
    never = threading.Event()
    while not never.wait(_LOOK_S):
        pass


@contextlib.contextmanager
def served(directory: Path, port: int | None) -> Iterator[str]:
    """Serve a directory's results while the block runs; yields the address."""
    from netwarp.serve import Server

    chosen = port or 0
    if not 0 <= chosen <= MAX_PORT:
        say(f"error: --port must be from 1 to {MAX_PORT}, or 0 for a free one, not {chosen}", style="red")
        sys.exit(USAGE)
    try:
        server = Server(directory, chosen)
    except OSError as error:
        raise OSError(
            f"cannot listen on port {chosen}: {error.strerror}; choose another, or leave --port out for a free one"
        ) from None
    with server:
        yield server.address
