"""The lock of a result directory: one process at a time writes into it."""

import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from netwarp.store.errors import StoreError, store_errors

NAME = ".lock"
_MAX_LENGTH = 1000


class InUseError(StoreError):
    """Another process writes into the directory."""


@contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Hold the directory's lock while the block runs; the kernel releases it when the process ends.

    Raises InUseError naming the process that holds it, StoreError if the directory cannot be written.
    """
    with store_errors(directory, "write"):
        # O_NOFOLLOW: a result of someone else may have a symbolic link here, whose target would be overwritten.
        handle = os.open(directory / NAME, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
        file = os.fdopen(handle, "a+", encoding="utf-8")
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            who = f"another netwarp{_holder(file)}"
            raise InUseError(f"{directory} is in use by {who}; wait for it or choose another directory") from None
        file.truncate(0)
        file.write(f"{os.getpid()} {socket.gethostname()}\n")
        file.flush()
        try:
            yield
        finally:
            file.truncate(0)


def holder(directory: Path) -> tuple[int, str] | None:
    """The process and host that hold the directory's lock, as noted in the lock's file; None if it is free.

    This does not take the lock, which would make another process fail. A process of this host must still exist.
    """
    try:
        handle = os.open(directory / NAME, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, encoding="utf-8", errors="replace") as file:
            found = _written(file)
    except OSError:
        return None
    if found is None or (found[1] == socket.gethostname() and not Path(f"/proc/{found[0]}").exists()):
        return None
    return found


def _holder(file: TextIO) -> str:
    """The holder of the lock in words; empty if it has not noted itself yet."""
    found = _written(file)
    return f" (process {found[0]} on {found[1]})" if found else ""


def _written(file: TextIO) -> tuple[int, str] | None:
    file.seek(0)
    pid, _, host = file.read(_MAX_LENGTH).strip().partition(" ")
    return (int(pid), host) if pid.isascii() and pid.isdigit() and host else None
