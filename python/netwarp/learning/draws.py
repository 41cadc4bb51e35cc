"""Values of a scenario's fields drawn from ranges, for episodes that differ."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from numpy.random import Generator

Draws = Mapping[str, Sequence[Any]]
"""Path of a field → a tuple (lowest, highest) of numbers or of quantities with one unit, or a list of values."""

_QUANTITY = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-z%]*)", re.ASCII)
_DECIMALS = 3
_MOST = 2**62
"""The bound of whole numbers that are drawn."""


def check_draws(draws: Draws) -> None:
    """Refuse what cannot be drawn from. Raises ValueError."""
    if not isinstance(draws, Mapping):
        raise ValueError(
            f'draw is {draws!r}; give a dictionary from paths, such as {{"links.bottleneck.rate": ("5mbit", "20mbit")}}'
        )
    for path, values in draws.items():
        _check(path, values)


def _check(path: str, values: Sequence[Any]) -> None:
    why = "give a tuple (lowest, highest), or a list of values"
    match values:
        case list() if values:
            return
        case (bool(), _) | (_, bool()):
            pass
        case (float() | int() as low, float() | int() as high):
            whole = isinstance(low, int) and isinstance(high, int)
            if low <= high and (abs(low) <= _MOST and abs(high) <= _MOST if whole else math.isfinite(high - low)):
                return
            why = "give the lowest first" if high < low else "give finite numbers, whole ones below 2^62"
        case (str(low), str(high)):
            ends = [_QUANTITY.fullmatch(text.strip()) for text in (low, high)]
            if ends[0] and ends[1] and ends[0][2] == ends[1][2] and float(ends[0][1]) <= float(ends[1][1]):
                return
            why = 'give the lowest first, and both in one unit, such as ("5mbit", "20mbit")'
    raise ValueError(f"draw[{path!r}] is {values!r}; {why}")


def extremes(draws: Draws) -> Iterator[dict[str, Any]]:
    """Values of all paths that together have both ends of each range, and each value of each list."""
    for at in range(max(map(len, draws.values()), default=0)):
        yield {path: values[min(at, len(values) - 1)] for path, values in draws.items()}


def drawn(draws: Draws, random: Generator) -> dict[str, Any]:
    """A value for each path of checked draws: uniform in a range, and any of a list."""
    return {path: _drawn(values, random) for path, values in draws.items()}


def _drawn(values: Sequence[Any], random: Generator) -> Any:
    if isinstance(values, list):
        return values[int(random.integers(len(values)))]
    low, high = values
    if isinstance(low, str):
        (first, unit), (last, _) = (_parts(text) for text in (low, high))
        return f"{random.uniform(first, last):.{_DECIMALS}f}{unit}"
    if isinstance(low, int) and isinstance(high, int):
        return int(random.integers(low, high, endpoint=True))
    return round(float(random.uniform(low, high)), _DECIMALS)


def _parts(text: str) -> tuple[float, str]:
    match = _QUANTITY.fullmatch(text.strip())
    assert match is not None
    return float(match[1]), match[2]
