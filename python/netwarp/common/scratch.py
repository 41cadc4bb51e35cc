"""Temporary directories that are locked while their owner lives, and can be removed by other processes afterwards.

A killed process removes nothing. So the owner locks its directory (flock), and another process of this user may remove
a directory without an owner, as `netwarp doctor --clean` does.
"""

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

RUNS = "netwarp-runs-"
"""Prefix in TMPDIR of the directories in which Dask workers make runs, and `netwarp rerun` compares them."""

MEMORY = "netwarp-memory-"
"""Prefix of the directories that hold a machine's memory file."""

PROGRAMS = "netwarp-program-"
"""Prefix in TMPDIR of the directories in which programs that decide congestion control run."""

CONNECTIONS = "netwarp-ssh-"
"""Prefix in TMPDIR of the directories that hold the sockets of connections."""


@contextlib.contextmanager
def scratch(prefix: str, place: Path | None = None) -> Iterator[Path]:
    """A new directory, in TMPDIR unless a place is named, which is always removed afterwards."""
    with contextlib.ExitStack() as stack:
        directory: Path | None = None
        while directory is None or not directory.exists():  # another process may remove it before it is locked
            directory = Path(tempfile.mkdtemp(prefix=prefix, dir=place))
            with contextlib.suppress(FileNotFoundError):
                stack.enter_context(held(directory))
        yield directory


@contextlib.contextmanager
def held(directory: Path) -> Iterator[Path]:
    """Own a temporary directory while the block runs, and always remove it afterwards."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)
        os.close(descriptor)


def clean_stale(directories: list[tuple[Path, str]]) -> list[Path]:
    """Remove leftovers of killed processes: this user's directories (place, prefix) without an owner."""
    stale = [path for directory, prefix in directories for path in sorted(directory.glob(f"{prefix}*")) if _stale(path)]
    for path in stale:
        shutil.rmtree(path, ignore_errors=True)
    return stale


def _stale(path: Path) -> bool:
    try:
        if path.is_symlink() or path.stat().st_uid != os.getuid():
            return False
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True
