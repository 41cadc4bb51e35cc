"""Containment of netwarp's faults while it analyses a run: that run fails, with the reason, and the others go on."""

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl

LOG = "internal-error.log"
"""The file in a run's directory with the traceback."""


class FaultError(Exception):
    """An unexpected error; the message is the run's reason."""


@contextmanager
def contained(directory: Path, *foreseen: type[Exception]) -> Iterator[None]:
    """Turn exceptions inside, except for `foreseen` ones, into a FaultError, and write the traceback to the run's log.

    Raises FaultError.
    """
    try:
        yield
    except foreseen:
        raise
    except MemoryError as error:
        raise FaultError(
            "there is not enough memory to analyse it; give it more, or run fewer at once with -j"
        ) from error
    except (Exception, pl.exceptions.PanicException) as error:
        (directory / LOG).write_text(traceback.format_exc(), encoding="utf-8", errors="backslashreplace")
        what = f"{type(error).__name__}: {str(error)[:200]}"
        raise FaultError(
            f"internal error while it was analysed: {what} ({LOG} in its directory says where; please report it)"
        ) from error
