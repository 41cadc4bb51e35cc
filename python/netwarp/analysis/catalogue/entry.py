"""The catalogue's entry of a metric: its words and unit, how it is computed, which way is better, how much of a
difference matters, where it is shown."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum


class Better(StrEnum):
    """The better direction of a metric's values."""

    HIGHER = "higher"
    LOWER = "lower"


HIGHER, LOWER = Better


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
class Axis:
    """The words for a metric in figures, and its unit ("" for a pure number)."""

    words: str
    unit: str = ""

    def __str__(self) -> str:
        """With the unit, unless the words name it: `RTT (ms)`, `dropped packets`."""
        named = self.unit in re.split(r"[ ,]+", self.words)
        return f"{self.words} ({self.unit})" if self.unit and not named else self.words


@dataclass(frozen=True)
class Entry:
    """One metric, or several that differ by what follows `stem`; `counts` says what a value of it is weighted by.

    `basis` says whose packets or bytes it counts, where (by whose clock) they are seen, and in which interval.
    `better` is None where a difference is neither: a means, not an end. `labels` has the words of names that are not
    those of the axis and a statistic. `main` maps names to headings of the main table, which has so many `digits` after
    the point. `spread`: it has a distribution within a run, in which a value's share is one of this. `overview` is the
    name that the report shows as a figure; of entries with a `topic` in common the first that was measured.
    """

    names: tuple[str, ...]
    stem: str
    formula: str
    counts: str
    source: str
    axis: Axis
    better: Better | None = None
    min_effect: MinEffect = MinEffect(0.05, 0.0)
    basis: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    digits: int = 1
    main: Mapping[str, str] = field(default_factory=dict)
    spread: str = ""
    overview: str = ""
    topic: str = ""

    def label(self, name: str) -> str:
        """One of the names, or the stem, with its unit, for an axis: `rtt_ms_p95` → "RTT, 95th percentile (ms)"."""
        statistic = name.removeprefix(self.stem).removeprefix("_")
        words = self.labels.get(name) or self.axis.words + (f", {_in_words(statistic)}" if statistic else "")
        return str(replace(self.axis, words=words))


def _in_words(statistic: str) -> str:
    percent = re.fullmatch(r"p(\d+)", statistic)
    if percent is None:
        return {"max": "maximum", "min": "minimum"}.get(statistic, statistic.replace("_", " "))
    return "median" if statistic == "p50" else f"{percent[1]}th percentile"


def entry(
    names: str,
    formula: str,
    counts: str,
    source: str,
    *,
    axis: Axis,
    better: Better | None = None,
    min_effect: tuple[float, float] = (0.05, 0),
    basis: str = "",
    labels: Mapping[str, str] | None = None,
    digits: int = 1,
    main: Mapping[str, str] | None = None,
    spread: str = "",
    overview: str = "",
    topic: str = "",
) -> Entry:
    """An entry of the metrics `names`, such as `drops` or `rtt_ms: mean max`; `min_effect` is relative and absolute."""
    stem, colon, ends = names.partition(":")
    each = tuple(f"{stem}_{end}" for end in ends.split()) if colon else tuple(names.split())
    return Entry(
        each,
        stem if colon else each[0],
        formula,
        counts,
        source,
        axis,
        better=better,
        min_effect=MinEffect(*min_effect),
        basis=basis,
        labels=labels or {},
        digits=digits,
        main=main or {},
        spread=spread,
        overview=overview,
        topic=topic,
    )
