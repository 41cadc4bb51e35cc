"""The study's statements as data: `data/claims.toml`, whose head explains each key."""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib import resources
from math import inf
from typing import Any

from netwarp.store.findings import Holds
from netwarp.studies.three_node.columns import SCRIPTS
from netwarp.studies.three_node.published import published

_UNITS = {"_Mbps": " Mbit/s", "_ms": " ms", "_pct": " %"}


@dataclass(frozen=True)
class Place:
    """A place where a claim can be checked: the column in one row, the ratio of the column in two rows, or, if the
    claim is about a correlation, all of its rows."""

    rows: tuple[str, ...]

    def __str__(self) -> str:
        return " / ".join(self.rows) if len(self.rows) <= 2 else f"over {len(self.rows)} rows"


@dataclass(frozen=True)
class Claim:
    """A statement: its source, its column and places, and the bounds of its values.

    `beside` is another column, if the claim is about the correlation of the two over the rows of a place.
    `better` is the side of a stated range on which values are better, "lower" or "higher"; None for other statements.
    """

    id: str
    source: str
    text: str
    column: str = ""
    beside: str = ""
    places: tuple[Place, ...] = ()
    above: float = -inf
    below: float = inf
    better: str | None = None
    unmeasured: str | None = None

    @property
    def rows(self) -> tuple[str, ...]:
        """The rows that it needs."""
        return tuple(dict.fromkeys(row for place in self.places for row in place.rows))

    @property
    def unit(self) -> str:
        """The unit of its values, with the space before it."""
        if self.beside:
            return ""
        if any(len(place.rows) > 1 for place in self.places):
            return " ×"
        if self.column == "ss_avg_cwnd":
            return " packets"
        return next((unit for suffix, unit in _UNITS.items() if self.column.endswith(suffix)), "")

    def verdict(self, value: float) -> Holds:
        """The verdict of a value at a place on the statement."""
        if self.above < value < self.below:
            return Holds.WITHIN if self.better else Holds.YES
        if self.better is None:
            return Holds.NO
        return Holds.BETTER if (value <= self.above) == (self.better == "lower") else Holds.WORSE

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it is about."""
        return (self.column, self.beside) if self.beside else (self.column,)


def published_column(column: str) -> str:
    """The name of a column in the published tables."""
    return next((name for name, ours in SCRIPTS.items() if ours == column), column)


@dataclass(frozen=True)
class Recommendation:
    """The study's advice, the claims on which it is based, and the part that was not measured."""

    source: str
    text: str
    grounds: tuple[str, ...]
    beyond: str


@dataclass(frozen=True)
class Note:
    """The study's note on some of its rows: the row that was run instead, if the note is right."""

    source: str
    text: str
    instead: Mapping[str, str]


def load() -> tuple[tuple[Claim, ...], tuple[Recommendation, ...]]:
    """The claims and recommendations, in the order of the text."""
    data = _data()
    names = tuple(published())
    claims = tuple(_claim(entry, names) for entry in data["claim"])
    advice = tuple(Recommendation(**entry | {"grounds": tuple(entry["grounds"])}) for entry in data["recommendation"])
    return claims, advice


def load_note() -> Note:
    """The study's note on eight of its rows."""
    return Note(**_data()["note"])


def _data() -> dict[str, Any]:
    file = resources.files("netwarp.studies.three_node") / "data" / "claims.toml"
    return tomllib.loads(file.read_text(encoding="utf-8"))


def _claim(entry: dict[str, Any], names: Sequence[str]) -> Claim:
    keys = {"id", "source", "text", "column", "beside", "above", "below", "better", "unmeasured"}
    return Claim(**{key: entry[key] for key in keys & entry.keys()}, places=tuple(_places(entry, names)))


def _places(entry: dict[str, Any], names: Sequence[str]) -> Iterator[Place]:
    found: list[tuple[str, ...]] = [
        (name,) for pattern in entry.get("values", ()) for name in names if fnmatchcase(name, pattern)
    ]
    found += [pair for first, second in entry.get("ratios", ()) for pair in _pairs(first, second, names)]
    if "largest" in entry:
        others = (name for name in names if fnmatchcase(name, entry["among"]) and name != entry["largest"])
        found += [(entry["largest"], other) for other in others]
    if "correlated" in entry:
        found.append(tuple(name for name in names if fnmatchcase(name, entry["correlated"])))
    yield from map(Place, dict.fromkeys(found))


def _pairs(first: str, second: str, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Both rows of each pair of published rows; a * matches the same text in both."""
    before, star, after = first.partition("*")
    for name in names:
        if not fnmatchcase(name, first):
            continue
        other = second.replace("*", name[len(before) : len(name) - len(after)]) if star else second
        if other in names and other != name:
            yield name, other
