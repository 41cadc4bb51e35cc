"""Words and orders of figures."""

import re
import textwrap
from collections.abc import Sequence
from typing import Any

from netwarp.store.summary import axis_text

_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_SCALES = {"k": 1e3, "m": 1e6, "g": 1e9, "ms": 1e-3, "us": 1e-6}


def natural_key(value: Any) -> list[tuple[int, float, str]]:
    """A sort key under which "limit 20" comes before "limit 100", and "1mbit" before "10kbit" does not."""
    if isinstance(value, int | float):
        return [(0, float(value), "")]
    parts = re.findall(r"(\d+(?:\.\d+)?)([kmg](?:bit|b)|us|ms)?|(\D+)", axis_text(value).lower())
    return [(0, float(n) * _scale(unit), "") if n else (1, 0.0, word) for n, unit, word in parts]


def is_ordered(values: Sequence[Any]) -> bool:
    """Whether the values differ in numbers only, so that they have an order: pfifo limit 20, pfifo limit 100."""
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return True
    shapes = {re.sub(r"#(?:[kmg]bit|us|ms|s)\b", "#", _NUMBER.sub("#", axis_text(v))) for v in values}
    return len(shapes) == 1 and len(values) > 1 and "#" in next(iter(shapes))


def wrapped(text: str, width: int) -> str:
    """The text in lines of at most `width` characters, broken between words."""
    return "\n".join(textwrap.wrap(text, width, break_long_words=False)) or text


def slug(text: str) -> str:
    """The text as a part of a file name."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", text).strip("-.") or "none"


def _scale(unit: str) -> float:
    return _SCALES.get(unit, _SCALES.get(unit[:1], 1.0)) if unit else 1.0
