"""Arrivals of the transfers of an open-loop flow: at random, at regular intervals, or at the times in a file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ValidationInfo

from netwarp.lab_format.quantities import MAX_RUN_NS
from netwarp.values.constants import NS_PER_S
from netwarp.values.fields import Model, kind
from netwarp.values.files import find_file, folder_in, read_listed
from netwarp.values.units import parse_duration

MAX_TIMES = 100_000
_RATE = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)/s", re.ASCII)
_SECONDS = re.compile(r"\d{1,9}(\.\d{1,9})?", re.ASCII)
_EXAMPLES = '"poisson 50/s", "every 20ms", "times.csv", or "poisson" beside `load`'


class Arrivals(Model):
    """A Poisson process or a regular one with this mean interval (None: `load` decides it), or listed times."""

    process: Literal["poisson", "regular", "listed"]
    interval_ns: int | None = None
    times_ns: tuple[int, ...] = ()


def expected_arrivals(interval_ns: int | None, times_ns: Sequence[int], active_ns: int) -> float:
    """The mean number of arrivals within this time: by the interval if there is one, otherwise of the listed times."""
    return active_ns / interval_ns if interval_ns else sum(time < active_ns for time in times_ns)


def parse_times(rows: Sequence[tuple[int, Sequence[str]]], name: str) -> Arrivals:
    """Arrivals at the times, in seconds, in the numbered rows of a table with the column `time`. Raises ValueError."""
    if not 0 < len(rows) <= MAX_TIMES:  # before they are read, which takes minutes for a million
        raise ValueError(f"{name}: has {len(rows):,} times; expected 1 to {MAX_TIMES:,}")
    times: list[int] = []
    for number, cells in rows:
        if len(cells) != 1 or not _SECONDS.fullmatch(cells[0]):
            raise ValueError(f'{name}:{number}: "{",".join(cells)[:60]}" is not a time in seconds, such as 1.5')
        at_ns = round(Fraction(cells[0]) * NS_PER_S)
        if at_ns > MAX_RUN_NS or (times and at_ns < times[-1]):
            raise ValueError(f"{name}:{number}: times must not decrease from row to row, nor exceed 30 days")
        times.append(at_ns)
    return Arrivals(process="listed", times_ns=tuple(times))


def _arrivals(value: object, info: ValidationInfo) -> Any:
    if isinstance(value, Arrivals):
        return value
    if isinstance(value, str) and value.endswith(".csv"):
        return parse_times(read_listed(value, find_file(value, folder_in(info.context, value)), ("time",)), value)
    if not isinstance(value, str):
        raise ValueError(f"must be text: {_EXAMPLES}")
    match value.split():
        case ["poisson"]:
            return Arrivals(process="poisson")
        case ["poisson", rate] if (found := _RATE.fullmatch(rate)) and Fraction(found[1]) > 0:
            interval_ns = round(NS_PER_S / Fraction(found[1]))
            if not 0 < interval_ns <= MAX_RUN_NS:
                raise ValueError(f'"{rate}" is not a rate of transfers; expected from one in 30 days to one in 1 ns')
            return Arrivals(process="poisson", interval_ns=interval_ns)
        case ["every", interval] if parse_duration(interval) > 0:
            return Arrivals(process="regular", interval_ns=parse_duration(interval))
    raise ValueError(f'"{value[:80]}" is not understood; write {_EXAMPLES}')


ArrivalsField = Annotated[
    Arrivals,
    BeforeValidator(_arrivals),
    kind("arrivals", "poisson 50/s", "every 20ms", "times.csv", "poisson"),
]
