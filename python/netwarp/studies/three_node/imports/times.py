"""Converts the machines' clocks to the run's clock, whose 0 is when the first test's connections were established.

The files of one run were written by three machines, whose clocks and time zones may differ, and ss prints no time. So
the time of a sample is derived from the socket's age, and the difference between two clocks is used modulo a quarter of
an hour: time zones differ by multiples of that, clocks do not.
"""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise

_QUARTER_S = 900.0
_DAY_S = 86400.0
_EPOCH = re.compile(r"(?<![\d.])(1\d{9})(?:\.(\d{1,9}))?(?![\d.])")
_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d(?:[.,]\d{1,9})?)")
_CLOCK = re.compile(r"(?<![\d:.])(\d\d):(\d\d):(\d\d(?:[.,]\d{1,9})?)(?![\d:])")


def parse_stamp(text: str) -> float | None:
    """The time in a line that a script wrote (`date`, `date +%s.%N`, `date -Is`, 10:00:01): seconds since 1970, or
    since midnight if the date is missing or in words. None without a time."""
    if (match := _EPOCH.search(text)) is not None:
        return float(f"{match[1]}.{match[2] or 0}")
    if (match := _DATE.search(text)) is not None:
        year, month, day, hour, minute = (int(part) for part in match.groups()[:5])
        try:
            whole = datetime(year, month, day, hour, minute, tzinfo=UTC).timestamp()
        except ValueError:
            return None
        return whole + float(match[6].replace(",", "."))
    if (match := _CLOCK.search(text)) is not None:
        hour, minute = int(match[1]), int(match[2])
        return hour * 3600 + minute * 60 + float(match[3].replace(",", ".")) if hour < 24 and minute < 60 else None
    return None


def since(stamps: Sequence[float], origin_s: float) -> list[float]:
    """Stamps of one clock, in order, as seconds after the Unix time `origin_s` of another clock.

    The first is compared with the origin modulo a quarter of an hour, the others with the first.
    """
    if not stamps:
        return []
    first = (stamps[0] - origin_s + _QUARTER_S / 2) % _QUARTER_S - _QUARTER_S / 2
    times = [first]
    for before, stamp in pairwise(stamps):
        step = stamp - before
        times.append(times[-1] + (step + _DAY_S if step < -_DAY_S / 2 else step))
    return times


def filled(known: Sequence[float | None], stamps: Sequence[float | None], step: float) -> list[float] | None:
    """A time for each element of a sequence of which some are `known`: by their stamps if they have them, else evenly.

    Elements between two known ones are spaced evenly; before the first and after the last they are one median step
    apart (`step` if only one is known). None if none is known.
    """
    places = [place for place, value in enumerate(known) if value is not None]
    if not places:
        return None
    values = {place: float(known[place] or 0.0) for place in places}
    steps = sorted((values[b] - values[a]) / (b - a) for a, b in pairwise(places))
    usual = steps[len(steps) // 2] if steps else step
    times = []
    for place in range(len(known)):
        if place in values:
            times.append(values[place])
            continue
        near = min(places, key=lambda other: abs(other - place))
        stamp, its = stamps[place], stamps[near]
        if stamp is not None and its is not None:
            times.append(values[near] + stamp - its)
            continue
        before = max((other for other in places if other < place), default=None)
        after = min((other for other in places if other > place), default=None)
        if before is not None and after is not None:
            share = (place - before) / (after - before)
            times.append(values[before] + share * (values[after] - values[before]))
        else:
            times.append(values[near] + (place - near) * usual)
    return times
