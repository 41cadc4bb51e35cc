"""Records that several figures of one command show are read once: those of a result of many runs take longest."""

import contextlib
from collections.abc import Callable, Hashable, Iterator
from contextvars import ContextVar
from typing import Any, TypeVar

Read = TypeVar("Read")

_KEPT: ContextVar[dict[Hashable, Any] | None] = ContextVar("kept", default=None)


@contextlib.contextmanager
def reading_once() -> Iterator[None]:
    """A block in which `once` keeps what it reads. The records must not change in it."""
    token = _KEPT.set({})
    try:
        yield
    finally:
        _KEPT.reset(token)


def once(key: Hashable, read: Callable[[], Read]) -> Read:
    """The result of `read`, kept for this key in a block of `reading_once`; outside of one it is read each time."""
    kept = _KEPT.get()
    if kept is None:
        return read()
    if key not in kept:
        kept[key] = read()
    found: Read = kept[key]
    return found
