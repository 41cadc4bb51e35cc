"""Formats of quantities on the page."""

from decimal import Decimal

_RATES = ((10**9, "Gbit/s"), (10**6, "Mbit/s"), (10**3, "kbit/s"), (1, "bit/s"))
_TIMES = ((10**9, "s"), (10**6, "ms"), (10**3, "µs"), (1, "ns"))


def rate(bps: int) -> str:
    """10000000 → `10 Mbit/s`."""
    return _scaled(bps, _RATES)


def duration(ns: int) -> str:
    """10000000 → `10 ms`; 0 → `0 s`."""
    return _scaled(ns, _TIMES) if ns else "0 s"


def about(ns: int) -> str:
    """A duration to four digits: 20641947 → `20.64 ms`."""
    return duration(int(float(f"{ns:.4g}")))


def number(value: float, digits: int) -> str:
    """A value with this many digits after the point, and separated thousands."""
    return f"{value:,.{digits}f}".replace(",", "\u202f")


def count(number_: int, word: str, many: str | None = None) -> str:
    """`1 run`, `5 runs`."""
    return f"{number_} {word if number_ == 1 else many or word + 's'}"


def _scaled(value: int, scales: tuple[tuple[int, str], ...]) -> str:
    """An exact value in the largest unit in which it is at least 1."""
    factor, unit = next((pair for pair in scales if abs(value) >= pair[0]), scales[-1])
    return f"{(Decimal(value) / factor).normalize():f} {unit}"
