"""Labels of figures, and the order of values."""

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from netwarp.plots.colours import QUEUE_DISCIPLINES
from netwarp.store.summary import axis_text
from netwarp.studies.registry import short_words

_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_PIECES = re.compile(r"(?P<number>\d+(?:\.\d+)?)(?P<unit>[kKmMgG]bit|us|ms|s\b|%)?|[^\d]+")
_LONG, _SHORT = 40, 20
_DISCIPLINES = {"red": "RED", "codel": "CoDel", "pie": "PIE", "cake": "CAKE", "choke": "CHOKe", "sfq": "SFQ"}
_SCALES = {"k": 1e3, "m": 1e6, "g": 1e9, "ms": 1e-3, "us": 1e-6}


def natural_key(value: Any) -> list[tuple[int, float, str]]:
    """A sort key that orders numbers by value: "limit 20" before "limit 100", "10kbit" before "1mbit"."""
    if isinstance(value, int | float):
        return [(0, float(value), "")]
    parts = re.findall(r"(\d+(?:\.\d+)?)([kmg](?:bit|b)|us|ms)?|(\D+)", axis_text(value).lower())
    return [(0, float(n) * _scale(unit), "") if n else (1, 0.0, word) for n, unit, word in parts]


def is_ordered(values: Sequence[Any]) -> bool:
    """Whether the values differ only in numbers, so that they have an order: pfifo limit 20, pfifo limit 100."""
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return True
    shapes = {re.sub(r"#(?:[kmg]bit|us|ms|s)\b", "#", _NUMBER.sub("#", axis_text(v))) for v in values}
    return len(shapes) == 1 and len(values) > 1 and "#" in next(iter(shapes))


def in_order(values: Sequence[Any]) -> list[Any]:
    """Values sorted if they have an order, with None first; else in the given order, which is the plan's."""
    if not is_ordered([value for value in values if value is not None]):
        return list(values)
    return sorted(values, key=lambda value: [(-1, 0.0, "")] if value is None else natural_key(value))


@dataclass(frozen=True)
class Numbers:
    """An axis whose values differ only in one number: the numbers, their texts, and the words around them.

    `words` is "" for bare numbers, else such as ` (pfifo limit …)`, or ` (Mbit/s)` if all have one unit.
    """

    values: list[float]
    labels: list[str]
    words: str


def numbers_of(values: Sequence[Any]) -> Numbers | None:
    """The numbers in which the values differ, rates and times in base units; None unless they differ in one number."""
    if len(values) < 2 or not is_ordered(values):
        return None
    if all(isinstance(value, int | float) for value in values):
        return Numbers([float(value) for value in values], [f"{value:g}" for value in values], "")
    parts = [list(_PIECES.finditer(axis_text(value))) for value in values]
    differing = [
        place
        for place in range(len(parts[0]))
        if len({pieces[place][0] for pieces in parts if len(pieces) > place}) > 1
    ]
    if len(differing) != 1 or len({len(pieces) for pieces in parts}) != 1:
        return None
    found = [pieces[differing[0]] for pieces in parts]
    numbers = [float(match["number"]) * _scale((match["unit"] or "").lower()) for match in found]
    units = {match["unit"] for match in found}
    if len(parts[0]) == 1 and len(units) == 1 and None not in units:
        unit = _shown_unit(units.pop())
        return Numbers(numbers, [match["number"] for match in found], f" ({unit})")
    around = "".join("…" if place == differing[0] else piece[0] for place, piece in enumerate(parts[0])).strip()
    return Numbers(numbers, [match[0] for match in found], f" ({around})" if around != "…" else "")


def _shown_unit(unit: str) -> str:
    """A scenario's unit as an axis shows it: `mbit` → `Mbit/s`."""
    if not unit.lower().endswith("bit"):
        return unit
    scale = unit[0].lower()
    return f"{scale if scale == 'k' else scale.upper()}bit/s"


def short_case(name: str) -> str:
    """A long name of a case, with spaces and the short words of studies (`Study.short_words`)."""
    if len(name) <= 12 or " " in name:
        return name
    for pattern, short in short_words():
        name = re.sub(pattern, short, name)
    return re.sub(r"[\s_]+", " ", name).strip()


def shortened_alike(labels: Sequence[str]) -> list[str]:
    """Shorten labels that are too long for a legend: a queue discipline to its name and the options in which it differs
    from others of that name, other labels after a word, unless two of them would become the same."""
    cut = [label if len(label) <= _LONG else _shortened(label, labels) for label in labels]
    return cut if len(set(cut)) == len(set(labels)) else list(labels)


def _shortened(label: str, labels: Sequence[str]) -> str:
    kind, *words = label.split()
    if kind not in QUEUE_DISCIPLINES:
        return textwrap.shorten(label, _SHORT, placeholder=" …")
    alike = [other.split()[1:] for other in labels if other.split()[:1] == [kind]]
    name = discipline_name(kind)
    if len(alike) == 1:
        return name
    if len({len(other) for other in alike}) > 1:  # their words cannot be matched
        return label
    differing = [at for at in range(len(words)) if len({other[at] for other in alike}) > 1]
    # An option's name precedes its value.
    kept = sorted({at for place in differing for at in (place - 1, place) if at >= 0})
    return " ".join([name, *(words[at] for at in kept)])


def discipline_name(kind: str) -> str:
    """The name of a queue discipline as its authors write it: red → RED."""
    return _DISCIPLINES.get(kind, kind)


def wrapped(text: str, width: int) -> str:
    """The text in lines of at most `width` characters, broken between words."""
    return "\n".join(textwrap.wrap(text, width, break_long_words=False)) or text


def slug(text: str) -> str:
    """The text as a part of a file name."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", text).strip("-.") or "none"


def _scale(unit: str) -> float:
    return _SCALES.get(unit, _SCALES.get(unit[:1], 1.0)) if unit else 1.0
