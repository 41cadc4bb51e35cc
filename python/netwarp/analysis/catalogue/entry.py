"""An entry of the catalogue of metrics: formula, direction, and the smallest difference that matters."""

from dataclasses import dataclass

HIGHER, LOWER = "higher", "lower"


@dataclass(frozen=True)
class MinEffect:
    """The smallest difference that matters: this share of the value, and at least an amount in the metric's unit."""

    relative: float
    absolute: float

    def of(self, value: float) -> float:
        """Return the smallest difference from this value that matters."""
        return max(self.relative * abs(value), self.absolute)

    def __str__(self) -> str:
        """The difference in words, such as `5 %, at least 0.1`."""
        parts = [f"{100 * self.relative:g} %"] if self.relative else []
        return ", at least ".join([*parts, *([f"{self.absolute:g}"] if self.absolute or not parts else [])])


@dataclass(frozen=True)
class Entry:
    """One metric, or several that differ by a suffix; `counts` is the weight of its values.

    `basis` says whose packets or bytes it counts, where (by whose clock) they are seen, and in which interval. `better`
    is `higher`, `lower`, or None if a difference is neither, because the metric is not a goal in itself.
    """

    names: tuple[str, ...]
    formula: str
    counts: str
    source: str
    better: str | None = None
    min_effect: MinEffect = MinEffect(0.05, 0.0)
    basis: str = ""


def entry(
    names: str,
    formula: str,
    counts: str,
    source: str,
    *,
    better: str | None = None,
    min_effect: tuple[float, float] = (0.05, 0),
    basis: str = "",
) -> Entry:
    """Return the entry of the metrics in `names`, separated by spaces; `min_effect` is relative and absolute."""
    return Entry(tuple(names.split()), formula, counts, source, better, MinEffect(*min_effect), basis)
