"""Which values of a parameter a test has by day."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import pytest

T = TypeVar("T")


def parameters(values: Iterable[T], at_night: Callable[[T], bool]) -> list[Any]:
    """The values for `pytest.mark.parametrize`, of which `make test` leaves some to `make nightly`."""
    return [pytest.param(value, marks=[pytest.mark.nightly] if at_night(value) else []) for value in values]
