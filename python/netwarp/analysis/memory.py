"""The memory of this process."""

import ctypes
from collections.abc import Callable
from functools import cache


def return_unused() -> None:
    """Return freed memory to the host that the C library keeps for later.

    glibc keeps up to 130 MB of the arrays of a long run, some of them between what is still used (malloc_trim(3)).
    """
    _trim()(0)


@cache
def _trim() -> Callable[[int], object]:
    """malloc_trim(3), or nothing with a C library that has none."""
    found: Callable[[int], object] = getattr(ctypes.CDLL(None), "malloc_trim", lambda _: None)
    return found
