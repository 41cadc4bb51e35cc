"""Errors about files, as sentences that a user can act on."""

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_REASONS = {
    errno.ENOSPC: "the disk is full; free some room and run again, what is complete is kept",
    errno.EDQUOT: "the disk quota is used up; free some room and run again, what is complete is kept",
    errno.EACCES: "permission denied; choose a directory you may write to with -o",
    errno.EPERM: "permission denied; choose a directory you may write to with -o",
    errno.EROFS: "the file system is read-only; choose another directory with -o",
    errno.ENOENT: "there is no such file or directory",
    errno.ENOTDIR: "a part of the path is a file, not a directory",
    errno.EEXIST: "something of this name exists and is not a directory",
    errno.ELOOP: "it is a symbolic link, which netwarp does not follow here; remove it",
    errno.EISDIR: "it is a directory, where a file was expected",
}


class StoreError(Exception):
    """A result could not be written or read; the message is one sentence that names the path and what to do."""


class PlanMismatchError(StoreError):
    """The result directory belongs to another plan (a usage error: exit code 2)."""


class SelectionError(StoreError):
    """The selection is not in the result (a usage error); the message is a sentence that says what is."""


class LayoutError(StoreError):
    """A directory to import does not have the expected layout (a usage error); the message says what was expected."""


class NoResultError(StoreError):
    """The given directory is missing or is not a result (a usage error)."""


def is_without_room(error: StoreError) -> bool:
    """Whether a file could not be written because the disk is full or the quota is used up."""
    cause = error.__cause__
    return isinstance(cause, Exception) and _number_of(cause) in (errno.ENOSPC, errno.EDQUOT)


@contextmanager
def store_errors(path: Path, doing: str) -> Iterator[None]:
    """Turn an error of the operating system inside the block into a StoreError: "cannot <doing> <path>: <reason>"."""
    try:
        yield
    except Exception as error:
        number = _number_of(error)
        if number is None and not isinstance(error, OSError):
            raise
        reason = getattr(error, "strerror", None) or str(error)
        raise StoreError(f"cannot {doing} {path}: {_REASONS.get(number or 0, reason)}") from error


def _number_of(error: Exception) -> int | None:
    """The operating system's number of an error. Polars reports it only in the text of several kinds of errors."""
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno
    found = re.search(r"\(os error (\d+)\)", str(error))
    return int(found[1]) if found else None
