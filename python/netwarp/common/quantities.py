"""Quantities as text for people, with the unit in which they are read most easily."""

from decimal import Decimal

_RATES = ((10**9, "Gbit/s"), (10**6, "Mbit/s"), (10**3, "kbit/s"), (1, "bit/s"))
_TIMES = ((10**9, "s"), (10**6, "ms"), (10**3, "µs"), (1, "ns"))
_SIZES = ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB"), (1, "bytes"))


def rate(bps: float, digits: int | None = None) -> str:
    """10000000 → `10 Mbit/s`, to this many digits if given."""
    return _scaled(bps, _RATES, digits)


def duration(ns: float, digits: int | None = None) -> str:
    """10000000 → `10 ms`, to this many digits if given; 0 → `0 s`."""
    return _scaled(ns, _TIMES, digits) if ns else "0 s"


def size(bytes_: float, digits: int = 2) -> str:
    """10000000 → `10 MB`, to this many digits."""
    return _scaled(bytes_, _SIZES, digits)


def number(value: float, digits: int) -> str:
    """A value with this many digits after the point, and separated thousands."""
    return f"{value:,.{digits}f}".replace(",", "\u202f")


def count(number_: int, word: str, many: str | None = None) -> str:
    """`1 run`, `5 runs`."""
    return f"{number_} {word if number_ == 1 else many or word + 's'}"


def _scaled(value: float, scales: tuple[tuple[int, str], ...], digits: int | None) -> str:
    """A value in the largest unit in which it is at least 1."""
    exact = Decimal(value) if digits is None else Decimal(f"{value:.{digits}g}")
    factor, unit = next((pair for pair in scales if abs(exact) >= pair[0]), scales[-1])
    return f"{(exact / factor).normalize():f} {unit}"
