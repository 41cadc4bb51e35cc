"""Safe reading of files that a machine has left in its run directory: no link is followed, every read is bounded."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path


def odd_files(directory: Path) -> list[str]:
    """Remove entries other than directories and unlinked regular files (a link, a pipe); return their relative names.

    A confined machine cannot make such entries (the agent's guard/confinement/). Call this after all of its processes
    have ended.
    """
    odd = [entry for entry in _entries(directory) if not _is_own(entry.stat(follow_symlinks=False))]
    for entry in odd:
        Path(entry.path).unlink()
    return sorted(os.path.relpath(entry.path, directory) for entry in odd)


def read_start(path: Path, size: int) -> bytes:
    """The first `size` bytes of a file. Raises OSError."""
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
        return file.read(size)


def _is_own(found: os.stat_result) -> bool:
    return stat.S_ISDIR(found.st_mode) or (stat.S_ISREG(found.st_mode) and found.st_nlink == 1)


def _entries(directory: Path) -> Iterator["os.DirEntry[str]"]:
    with os.scandir(directory) as entries:
        for entry in entries:
            yield entry
            if entry.is_dir(follow_symlinks=False):
                yield from _entries(Path(entry.path))
