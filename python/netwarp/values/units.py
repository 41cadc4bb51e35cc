"""Converts quantities with units to exact integers and back.

Rates are SI bits as in tc (`10mbit` is 10^7 bit/s); durations become nanoseconds; sizes bytes; percentages fractions.
Every conversion is exact (fractions, not floats); a value that cannot be exact is refused. All errors are ValueErrors
whose text is a sentence for the author of the scenario.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

RATE_UNITS: Mapping[str, int] = {"bit": 1, "kbit": 10**3, "mbit": 10**6, "gbit": 10**9, "tbit": 10**12}
DURATION_UNITS: Mapping[str, int] = {
    "ns": 1,
    "us": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "min": 60 * 10**9,
    "h": 3600 * 10**9,
}
SIZE_UNITS: Mapping[str, int] = {
    "B": 1,
    "kB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
}
MEMORY_UNITS: Mapping[str, int] = {"K": 2**10, "M": 2**20, "G": 2**30, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}

MAX_RATE_BPS = 10 * 10**12
MAX_DURATION_NS = 366 * 24 * 3600 * 10**9
MAX_SIZE_BYTES = 10**15

_BYTE_RATES = {"bps": "bit", "kbps": "kbit", "mbps": "mbit", "gbps": "gbit", "tbps": "tbit"}
_QUANTITY = re.compile(r"([+-]?)(\d{1,30}(?:\.\d{1,30})?)\s?([A-Za-z]*)", re.ASCII)
_PERCENT = re.compile(r"([+-]?)(\d{1,9}(?:\.\d{1,18})?)\s?%", re.ASCII)


def _split(text: str, what: str, example: str) -> tuple[Fraction, str]:
    """The number and unit of `text`; refuses signs, NaN, exponents and everything else that is not plain decimal."""
    match = _QUANTITY.fullmatch(text.strip())
    if match is None:
        raise ValueError(f'"{_short(text)}" is not a {what}; expected a plain number and a unit, such as "{example}"')
    sign, number, unit = match.groups()
    if sign == "-" and Fraction(number) != 0:
        raise ValueError(f'"{_short(text)}" is negative; a {what} cannot be negative')
    return Fraction(number), unit


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."


def _whole(value: Fraction, text: str, base: str) -> int:
    if value.denominator != 1:
        raise ValueError(f'"{_short(text)}" is not a whole number of {base}')
    return value.numerator


def _require_text(value: object, what: str, example: str) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError(f'a {what} is written as text with a unit, such as "{example}"')
    if not isinstance(value, str):
        raise ValueError(f'{value} has no unit; a {what} is written as text with a unit, such as "{example}"')
    return value


@lru_cache(maxsize=4096)
def _rate(text: str) -> int:
    number, unit = _split(text, "rate", "10mbit")
    lowered = unit.lower()
    if lowered in _BYTE_RATES:
        bits = _BYTE_RATES[lowered]
        raise ValueError(
            f'"{_short(text)}": tc means BYTES per second by "{unit}"; write "{text.strip()[: -len(unit)]}{bits}"'
        )
    if lowered not in RATE_UNITS:
        hint = "has no unit" if not unit else f'has the unknown unit "{unit}"'
        raise ValueError(f'"{_short(text)}" {hint}; rates are bit, kbit, mbit, gbit or tbit, such as "10mbit"')
    rate = _whole(number * RATE_UNITS[lowered], text, "bit/s")
    if rate > MAX_RATE_BPS:
        raise ValueError(f'"{_short(text)}" is beyond any link; the maximum is {format_rate(MAX_RATE_BPS)}')
    return rate


def parse_rate(value: object) -> int:
    """Parse a rate such as `"10mbit"` to bit/s. Refuses tc's byte rates (`mbps`), fractions of a bit, bare numbers."""
    return _rate(_require_text(value, "rate", "10mbit"))


def parse_positive_rate(value: object) -> int:
    """Parse a rate of at least 8 bit/s (tc counts whole bytes), to bit/s."""
    rate = parse_rate(value)
    if rate == 0:
        raise ValueError('a rate of 0 would never send; write a rate such as "10mbit"')
    if rate < 8:
        raise ValueError(f"{rate} bit/s is less than a byte a second; the minimum is 8bit")
    return rate


@lru_cache(maxsize=4096)
def _duration(text: str) -> int:
    number, unit = _split(text, "duration", "10ms")
    factor = DURATION_UNITS.get(unit)
    if factor is None:
        hint = "has no unit" if not unit else f'has the unknown unit "{unit}"'
        raise ValueError(f'"{_short(text)}" {hint}; durations are ns, us, ms, s, min or h, such as "10ms"')
    duration = _whole(number * factor, text, "nanoseconds")
    if duration > MAX_DURATION_NS:
        raise ValueError(f'"{_short(text)}" is longer than a year')
    return duration


def parse_duration(value: object) -> int:
    """Parse a duration such as `"10ms"` to ns. Refuses negatives, fractions of a nanosecond and bare numbers."""
    return _duration(_require_text(value, "duration", "10ms"))


@lru_cache(maxsize=4096)
def _size(text: str) -> int:
    number, unit = _split(text, "size", "10MB")
    if unit not in SIZE_UNITS:
        hint = "has no unit" if not unit else f'has the unknown unit "{unit}"'
        raise ValueError(f'"{_short(text)}" {hint}; sizes are B, kB, MB, GB, KiB, MiB or GiB, such as "10MB"')
    size = _whole(number * SIZE_UNITS[unit], text, "bytes")
    if size > MAX_SIZE_BYTES:
        raise ValueError(f'"{_short(text)}" is more than a petabyte')
    return size


def parse_size(value: object) -> int:
    """Parse a size such as `"10MB"` (or a plain integer of bytes) to bytes."""
    if isinstance(value, int) and not isinstance(value, bool):
        if not 0 <= value <= MAX_SIZE_BYTES:
            raise ValueError(f"{value} bytes is not a size; it must be between 0 and a petabyte")
        return value
    return _size(_require_text(value, "size", "10MB"))


def parse_memory(value: object) -> int:
    """Parse the memory of a virtual machine such as `"128M"` (binary units) to bytes."""
    text = _require_text(value, "memory size", "128M")
    number, unit = _split(text, "memory size", "128M")
    if unit not in MEMORY_UNITS:
        raise ValueError(f'"{_short(text)}" is not a memory size; write K, M or G, such as "128M"')
    return _whole(number * MEMORY_UNITS[unit], text, "bytes")


@lru_cache(maxsize=4096)
def _percent(text: str) -> float:
    match = _PERCENT.fullmatch(text.strip())
    if match is None:
        raise ValueError(f'"{_short(text)}" is not a percentage; write a number and a percent sign, such as "0.5%"')
    sign, number = match.groups()
    if sign == "-" and Fraction(number) != 0:
        raise ValueError(f'"{_short(text)}" is negative; a percentage here is between 0% and 100%')
    if Fraction(number) > 100:
        raise ValueError(f'"{_short(text)}" is more than 100%')
    return float(Fraction(number) / 100)


def parse_percent(value: object) -> float:
    """Parse a percentage such as `"0.5%"` to the nearest float of its exact fraction (0.005), between 0 and 1."""
    if isinstance(value, bool) or not isinstance(value, str):
        raise ValueError('a percentage is written as text with a percent sign, such as "0.5%"')
    return _percent(value)


def _format(value: int, units: Mapping[str, int]) -> str:
    """Format `value` in the largest unit that divides it, so that parsing gives `value` back."""
    if value < 0:
        raise ValueError(f"{value} is negative")
    smallest = min(units, key=lambda unit: units[unit])
    fitting = [unit for unit, factor in units.items() if value % factor == 0] if value else [smallest]
    unit = max(fitting, key=lambda name: units[name])
    return f"{value // units[unit]}{unit}"


def format_rate(rate_bps: int) -> str:
    """Format bit/s as text that parses back to the same value: `10mbit`."""
    return _format(rate_bps, RATE_UNITS)


def format_duration(duration_ns: int) -> str:
    """Format nanoseconds as text that parses back to the same value: `10ms`."""
    return _format(duration_ns, DURATION_UNITS)


def format_percent(fraction: float) -> str:
    """Format a fraction as a percentage that parses back to the same float: `0.5%`."""
    percent = Decimal(repr(fraction)).scaleb(2)
    return f"{percent.normalize():f}%"
