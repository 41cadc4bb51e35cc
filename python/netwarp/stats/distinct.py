"""Tallies: the distinct values of a state or of events, each with its whole weight.

In virtual time a queue of millions of packets has some thousand distinct sojourn times. So a tally of a long run takes
no more memory than one of a short run, and has exact percentiles.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from netwarp.stats.weighting import Times, TimeWeighted, Values, Window

Whole = NDArray[np.int64]
_PENDING = 1 << 18
"""Values that are held beside the tally until they are counted into it."""


@dataclass
class Tally:
    """Whole values with whole weights, added part by part."""

    _parts: list[tuple[Whole, Whole]] = field(default_factory=list)
    _pending: int = 0
    _distinct: int = 0

    def add(self, values: Whole, weights: Whole) -> None:
        """Count some values; weights of 0 count as if absent."""
        kept = weights > 0
        self._parts.append(distinct(values[kept], weights[kept]))
        self._pending += len(self._parts[-1][0])
        if self._pending > _PENDING + 2 * self._distinct:
            self._merge()

    def weighted(self, of_a_unit: float = 1.0) -> TimeWeighted:
        """The distinct values in ascending order, divided by `of_a_unit`, with their weights."""
        values, weights = self._merge()
        return TimeWeighted(values / of_a_unit, weights)

    def _merge(self) -> tuple[Whole, Whole]:
        if not self._parts:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        if len(self._parts) > 1:
            values, weights = (np.concatenate(columns) for columns in zip(*self._parts, strict=True))
            self._parts = [distinct(values, weights)]
        self._pending = self._distinct = len(self._parts[0][0])
        return self._parts[0]


def distinct(values: Whole, weights: Whole) -> tuple[Whole, Whole]:
    """The distinct values in ascending order, and the sum of the weights of each."""
    if not len(values):
        return values.astype(np.int64), weights.astype(np.int64)
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    return ordered[starts].astype(np.int64), np.add.reduceat(weights[order].astype(np.int64), starts)


@dataclass
class HeldTally:
    """A tally of a state's whole values by the time that each held in a window, from samples that come part by part.

    The rule is that of `time_weighted`: each sample holds until the next, the last one until the window's end.
    """

    window: Window
    _tally: Tally = field(default_factory=Tally)
    _last: tuple[int, int] | None = None

    def add(self, times_ns: Times, values: Whole | Values) -> None:
        """Add samples, sorted by time and not before earlier ones."""
        if not len(times_ns):
            return
        if self._last is not None:
            times_ns = np.concatenate([[self._last[0]], times_ns])
            values = np.concatenate([[self._last[1]], values])
        bounds = self.window.start_ns, max(self.window.end_ns, self.window.start_ns)
        self._tally.add(values[:-1].astype(np.int64), np.diff(np.clip(times_ns, *bounds)).astype(np.int64))
        self._last = int(times_ns[-1]), int(values[-1])

    def weighted(self, of_a_unit: float = 1.0, until_ns: int | None = None) -> TimeWeighted:
        """The distinct values, divided by `of_a_unit`, with their times; the last sample holds until then at most.

        No samples can be added afterwards.
        """
        if self._last is not None:
            time_ns, value = self._last
            end_ns = self.window.end_ns if until_ns is None else min(until_ns, self.window.end_ns)
            rest_ns = max(end_ns - max(time_ns, self.window.start_ns), 0)
            self._tally.add(np.array([value]), np.array([rest_ns]))
        self._last = None
        return self._tally.weighted(of_a_unit)
