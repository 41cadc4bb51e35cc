"""The memory of this process."""

import ctypes
from collections.abc import Callable
from functools import cache


def return_unused() -> None:
    """Return freed memory to the host that the C library keeps for later.

    glibc keeps up to 130 MB of the arrays of a long run, some of them between what is still used (malloc_trim(3)).
    """
    _function("malloc_trim")(0)


@cache
def keep_unused() -> None:
    """From now on let the C library keep up to 64 MB of freed memory, for the arrays of the next short run.

    Returned to the host and taken again, each page of such an array costs a page fault: ten thousand for a minute at
    10 Mbit/s, a sixth of the time of its metrics.
    """
    set_option = _function("mallopt")
    set_option(_M_TRIM_THRESHOLD, 64 << 20)
    set_option(_M_MMAP_THRESHOLD, 32 << 20)


_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
"""Options of mallopt(3): how much free memory is kept, and the bytes from which a block is mapped on its own."""


@cache
def _function(name: str) -> Callable[..., object]:
    """A function of the C library, or one that does nothing if it has none of this name."""
    found: Callable[..., object] = getattr(ctypes.CDLL(None), name, lambda *_: None)
    return found
