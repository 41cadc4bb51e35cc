"""Claims of CPUs: each run has a separate one, as long as there are enough."""

import contextlib
import fcntl
import itertools
import os
from collections.abc import Iterator

from netwarp.kernels import cache_directory

_turn = itertools.count(os.getpid())


def processors() -> list[int]:
    """The CPUs that this process may use."""
    return sorted(os.sched_getaffinity(0))


@contextlib.contextmanager
def claimed_processors(count: int) -> Iterator[list[int]]:
    """Claim this many CPUs that no other run of this user has on this machine while the block lasts; if fewer are free,
    the others are the next in turn.

    A claim is a lock on a file in netwarp's cache, so it ends with the process, however the process ends.
    """
    available = processors()
    start = next(_turn)
    turn = [available[(start + number) % len(available)] for number in range(max(count, len(available)))]
    with contextlib.ExitStack() as stack:
        claimed: list[int] = []
        for cpu in dict.fromkeys(turn):
            if len(claimed) < count and _claim(cpu, stack):
                claimed.append(cpu)
        yield (claimed + [cpu for cpu in turn if cpu not in claimed] + turn)[:count]


def _claim(cpu: int, stack: contextlib.ExitStack) -> bool:
    """Claim the CPU until `stack` ends; False if it is taken, or if the cache cannot be written."""
    directory = cache_directory().with_name("processors")
    try:
        directory.mkdir(parents=True, exist_ok=True)
        file = stack.enter_context((directory / str(cpu)).open("w"))
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
