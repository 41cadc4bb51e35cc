"""Work on many things at once, on threads: reading and sorting records is polars' and numpy's, which do not hold the
interpreter's lock."""

import os
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Thing = TypeVar("Thing")
Result = TypeVar("Result")

_SWITCH_S = 0.0002


def on_each(work: Callable[[Thing], Result], things: Iterable[Thing]) -> list[Result]:
    """What `work` makes of each thing, in their order; as many at once as this process has CPUs.

    Raises what the first of them raises.
    """
    # A thread that comes back from a short call waits this long for the lock, which would be longer than the call.
    before = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_S)
    try:
        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            return list(pool.map(work, things))
    finally:
        sys.setswitchinterval(before)
