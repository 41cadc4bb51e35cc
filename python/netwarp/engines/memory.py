"""Room for the memory files of virtual machines: reserved before a machine starts, by all runs of this user together.

A machine's memory is a file that fills while it runs, so the free room does not show how much the running machines will
still take. Each run writes its maximum to a file in netwarp's cache, which it holds locked; the lock, and with it the
reservation, ends with the process.
"""

import contextlib
import fcntl
import mmap
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from netwarp.kernels import cache_directory

MEMORY_BYTES = 256_000_000
"""Free bytes required in the directory of a virtual machine's memory file."""

SHARED_MEMORY = Path("/dev/shm")
ROOM_BYTES = 64 << 20
"""Bytes that stay free."""
_WAIT_S = 0.2
_LEDGER = ".ledger"


class NoRoomError(Exception):
    """A machine's memory does not fit into its directory, even alone; the message has the numbers."""


def memory_places(environ: Mapping[str, str] | None = None) -> list[Path]:
    """Return the directories for memory files: TMPDIR if it is set, /dev/shm, /tmp."""
    own = (os.environ if environ is None else environ).get("TMPDIR")
    return [*([Path(own)] if own else []), SHARED_MEMORY, Path("/tmp")]


def find_memory_directory(environ: Mapping[str, str] | None = None) -> tuple[Path | None, list[str]]:
    """Return the first suitable directory for memory files, and a sentence on each of `memory_places` before it.

    A directory is suitable if files there can be mapped executable and 256 MB are free. None if no directory is.
    """
    problems: list[str] = []
    for directory in memory_places(environ):
        problem = memory_problem(directory)
        if problem is None:
            return directory, problems
        problems.append(problem)
    return None, problems


def memory_problem(directory: Path) -> str | None:
    """Say why a directory cannot hold memory files, as a sentence; None if it can."""
    try:
        free = shutil.disk_usage(directory).free
        with tempfile.TemporaryFile(dir=directory) as file:
            file.truncate(mmap.PAGESIZE)
            mmap.mmap(file.fileno(), mmap.PAGESIZE, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_EXEC).close()
    except PermissionError:
        writable = os.access(directory, os.W_OK | os.X_OK)
        reason = "is mounted noexec, so memory there cannot hold programs" if writable else "cannot be written"
        return f"{directory} {reason}."
    except OSError as error:
        return f"{directory} cannot be used ({error.strerror})."
    if free < MEMORY_BYTES:
        return f"{directory} has only {free / 1e6:.0f} MB free of the {MEMORY_BYTES / 1e6:.0f} MB wanted."
    return None


def free_bytes(directory: Path) -> int:
    """Return the free bytes in the file system of `directory`."""
    return shutil.disk_usage(directory).free


@contextlib.contextmanager
def reserved(
    directory: Path, size: int, cancelled: threading.Event, free: Callable[[Path], int] = free_bytes
) -> Iterator[None]:
    """Reserve `size` bytes in `directory` while the block lasts; wait for them while other runs hold reservations.

    If the cache cannot be written, only the free room counts. Raises NoRoomError if the room is not enough although no
    other run holds a reservation. Returns without a reservation when `cancelled` is set.
    """
    with contextlib.ExitStack() as stack:
        while not cancelled.is_set():
            if _reserve(directory, size, free, stack):
                break
            cancelled.wait(_WAIT_S)
        yield


def _reserve(directory: Path, size: int, free: Callable[[Path], int], stack: contextlib.ExitStack) -> bool:
    """Reserve the room until `stack` ends; return whether there was enough. Raises NoRoomError."""
    book = cache_directory().with_name("memory") / f"{directory.stat().st_dev:x}"
    with contextlib.ExitStack() as ledger:
        try:
            book.mkdir(parents=True, exist_ok=True)
            fcntl.flock(ledger.enter_context((book / _LEDGER).open("w")), fcntl.LOCK_EX)
        except OSError:
            held = 0
        else:
            held = _held(book)
        left = free(directory) - ROOM_BYTES
        if left < size and not held:
            raise NoRoomError(
                f"{directory} has {max(left, 0) >> 20} MB left for it ({ROOM_BYTES >> 20} MB stay free), but the "
                f"virtual machine's memory takes {size >> 20} MB: free some, choose a larger place with TMPDIR, or set "
                "[run] memory"
            )
        if left < size + held:
            return False
        with contextlib.suppress(OSError):
            _write_down(book, size, stack)
        return True


def _held(book: Path) -> int:
    """Return the bytes that running machines have reserved; remove reservations of processes that are gone."""
    total = 0
    for path in sorted(book.iterdir()):
        if path.name == _LEDGER:
            continue
        with contextlib.suppress(FileNotFoundError), path.open("r") as file:  # its machine has ended meanwhile
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                with contextlib.suppress(ValueError):
                    total += int(file.read())
            else:
                path.unlink(missing_ok=True)
    return total


def _write_down(book: Path, size: int, stack: contextlib.ExitStack) -> None:
    handle, name = tempfile.mkstemp(dir=book)
    path, file = Path(name), stack.enter_context(os.fdopen(handle, "w"))
    fcntl.flock(file, fcntl.LOCK_EX)
    file.write(str(size))
    file.flush()
    stack.callback(path.unlink, missing_ok=True)
