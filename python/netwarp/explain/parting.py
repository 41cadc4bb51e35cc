"""The divergence of two runs: the first event that only one of them has."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import polars as pl

from netwarp.explain.events import KINDS, Events

Row = dict[str, Any]


@dataclass(frozen=True)
class Parting:
    """The first event that differs: its kind (`KINDS`), its time, and the row of each run; None if a run has none.

    `a` and `b` are rows of the same packet (the same number at the same place) if the event is a packet's.
    """

    kind: str
    time_ns: int
    a: Row | None
    b: Row | None

    @property
    def of_packet(self) -> bool:
        """Whether it is an event of a packet, not of a socket."""
        return self.kind in ("enqueue", "dequeue", "drop")

    @property
    def row(self) -> Row:
        """The event's row, from the run that has it first."""
        row = self.a if self.a is not None and self.a["time_ns"] == self.time_ns else self.b
        assert row is not None
        return row

    @property
    def changed(self) -> list[str]:
        """The columns in which the two events differ, if both runs have one."""
        if self.a is None or self.b is None:
            return []
        return [name for name in self.a if name in self.b and self.a[name] != self.b[name]]


def partings(a: Events, b: Events) -> list[Parting]:
    """The first event of each kind in which the runs differ, the earliest first; empty if all are the same."""
    return sorted(_partings(a, b), key=lambda parting: (parting.time_ns, KINDS.index(parting.kind)))


def _partings(a: Events, b: Events) -> Iterator[Parting]:
    for kind in KINDS:
        of_a, of_b = a.by_kind[kind], b.by_kind[kind]
        place = first_difference(of_a, of_b)
        if place is None:
            continue
        one, other = _row(of_a, place), _row(of_b, place)
        time_ns = min(row["time_ns"] for row in (one, other) if row is not None)
        first = one if one is not None and one["time_ns"] == time_ns else other
        assert first is not None
        yield Parting(kind, time_ns, _same(of_a, first), _same(of_b, first))


def first_difference(a: pl.DataFrame, b: pl.DataFrame) -> int | None:
    """The number of the first row in which two frames with the same columns differ; None if they are the same."""
    common = min(a.height, b.height)
    columns = [a[name][:common].ne_missing(b[name][:common]) for name in a.columns]
    places = [int(found) for column in columns if column.any() and (found := column.arg_max()) is not None]
    if places:
        return min(places)
    return None if a.height == b.height else common


def _row(frame: pl.DataFrame, place: int) -> Row | None:
    return frame.row(place, named=True) if place < frame.height else None


def _same(frame: pl.DataFrame, row: Row) -> Row | None:
    """This run's row of the same packet, or of the same tuple at the same instant; None if it has none."""
    names = ("place", "tuple", "number") if "number" in row else ("tuple", "time_ns")
    found = frame.filter(*(pl.col(name) == row[name] for name in names))
    return found.row(0, named=True) if found.height else None
