"""Parallel work on threads: polars and numpy, which read and sort records, do not hold the interpreter's lock."""

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

Thing = TypeVar("Thing")
Result = TypeVar("Result")

_SWITCH_S = 0.0002
_MAX = 8
"""The most threads, since each holds a run's records in memory."""
_lock = threading.Lock()
_users = 0
_usual_s = sys.getswitchinterval()


def on_each(work: Callable[[Thing], Result], things: Iterable[Thing]) -> list[Result]:
    """The results of `work` on each thing, in their order; as many run at once as this process has CPUs, up to 8.

    Each has the caller's context variables. Raises the exception of the first that fails.
    """
    with _swift_switches(), ThreadPoolExecutor(min(len(os.sched_getaffinity(0)), _MAX)) as pool:
        return [future.result() for future in [pool.submit(copy_context().run, work, thing) for thing in things]]


@contextlib.contextmanager
def _swift_switches() -> Iterator[None]:
    """Use a short switch interval while any caller needs it.

    A thread that returns from a short call waits that long for the lock, which would be longer than the call.
    """
    global _users, _usual_s  # noqa: PLW0603
    with _lock:
        if _users == 0:
            _usual_s = sys.getswitchinterval()
            sys.setswitchinterval(_SWITCH_S)
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                sys.setswitchinterval(_usual_s)
