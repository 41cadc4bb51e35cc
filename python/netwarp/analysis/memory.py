"""The memory of this process."""

import ctypes
from collections.abc import Callable
from functools import cache


def return_unused() -> None:
    """Return freed memory to the host that the C library keeps for later.

    glibc keeps up to 130 MB of the arrays of a long run, some of them between what is still used (malloc_trim(3)).
    """
    _trim()(0)


def keep_unused() -> None:
    """Let the C library keep up to 64 MB of freed memory, for the arrays of the next short run.

    Returned to the host and taken again, each page of such an array costs a page fault: ten thousand for a minute at
    10 Mbit/s, a sixth of the time of its metrics.
    """
    _set_option()(_M_TRIM_THRESHOLD, 64 << 20)
    _set_option()(_M_MMAP_THRESHOLD, 32 << 20)


_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
"""Options of mallopt(3): how much free memory is kept, and the bytes from which a block is mapped on its own."""


@cache
def _trim() -> Callable[[int], object]:
    """malloc_trim(3), or nothing with a C library that has none."""
    found: Callable[[int], object] = getattr(ctypes.CDLL(None), "malloc_trim", lambda _: None)
    return found


@cache
def _set_option() -> Callable[[int, int], object]:
    """mallopt(3), or nothing with a C library that has none."""
    found: Callable[[int, int], object] = getattr(ctypes.CDLL(None), "mallopt", lambda _, __: None)
    return found
