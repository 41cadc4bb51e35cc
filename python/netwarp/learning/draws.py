"""Values of a scenario's fields drawn from ranges, for episodes that differ."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from numpy.random import Generator

Draws = Mapping[str, Sequence[Any]]
"""Path of a field → a tuple (lowest, highest) of numbers or of quantities with one unit, or a list of values."""

_QUANTITY = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-z%]*)", re.ASCII)
_DECIMALS = 3


def drawn(draws: Draws, random: Generator) -> dict[str, Any]:
    """A value for each path: uniform in a range, and any of a list. Raises ValueError."""
    return {path: _drawn(path, values, random) for path, values in draws.items()}


def _drawn(path: str, values: Sequence[Any], random: Generator) -> Any:
    if isinstance(values, list) and values:
        return values[int(random.integers(len(values)))]
    match values:
        case (int(low), int(high)) if low <= high:
            return int(random.integers(low, high, endpoint=True))
        case (float() | int() as low, float() | int() as high) if low <= high:
            return round(float(random.uniform(low, high)), _DECIMALS)
        case (str(low), str(high)):
            return _quantity(path, low, high, random)
    raise ValueError(f"draw[{path!r}] is {values!r}; give a tuple (lowest, highest), or a list of values")


def _quantity(path: str, low: str, high: str, random: Generator) -> str:
    ends = [_QUANTITY.fullmatch(text.strip()) for text in (low, high)]
    if ends[0] is None or ends[1] is None or ends[0][2] != ends[1][2] or float(ends[0][1]) > float(ends[1][1]):
        raise ValueError(
            f'draw[{path!r}] is ("{low}", "{high}"); give the lowest first, and both in one unit, such as '
            '("5mbit", "20mbit")'
        )
    return f"{random.uniform(float(ends[0][1]), float(ends[1][1])):.{_DECIMALS}f}{ends[0][2]}"
