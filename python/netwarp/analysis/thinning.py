"""Rows of long runs that are kept in memory: those at which questions about instants are asked, and the extremes.

A table of a run of a day has a hundred million rows. Counters are asked for at the edges of intervals, and figures show
the extremes of each of their columns; distributions are counted while the rows are read (`stats/distinct.py`). All rows
that are kept are rows of the table: what is asked at other instants has the row before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from netwarp.stats.weighting import Times, Values, Window
from netwarp.store.description import Flow
from netwarp.store.rundir import RunDir

WHOLE_ROWS = 1 << 20
"""A table of up to this many rows, and this many first rows of a longer one, are kept whole."""
STEP_NS = 20_000_000
"""The steps of a flow's life in which its share is computed (`flow/sharing.py`)."""
TENTH_NS, SECOND_NS = 10**8, 10**9
"""The intervals of goodput in figures and exports, all from the start of the run or of a flow."""


@dataclass(frozen=True)
class Grid:
    """Instants at equal distances."""

    origin_ns: int
    step_ns: int


@dataclass(frozen=True)
class Thinning:
    """Which rows of a long table are kept.

    `window` is that of the metrics, `lives` those of the run's flows, by id, without a flow whose life only its records
    show: its rows are all kept. `shared_ns` is when the first of the flows that share begins to count. All rows in
    `closely`, the part of the run that a figure shows, are kept. With `steps`, there are rows for each step of a flow's
    life, of which a day has four million.
    """

    window: Window
    lives: Mapping[int, Window]
    shared_ns: int
    closely: Window | None = None
    steps: bool = True

    @cached_property
    def _cuts(self) -> Times:
        return np.unique([at for span in (self.window, *self.lives.values()) for at in span.bounds])

    def grids(self, flow: Flow, *, finely: bool) -> list[Grid]:
        """The instants at which a flow's counters are asked for; `finely` with those of its share."""
        found = [Grid(0, TENTH_NS), Grid(flow.start_ns, SECOND_NS)]
        if finely:
            found.append(Grid(self.shared_ns, SECOND_NS))
        if finely and self.steps:
            found.append(Grid(flow.start_ns, STEP_NS))
        return found

    def kept(self, times_ns: Times, grids: Sequence[Grid], extremes: Sequence[NDArray[np.generic]] = ()) -> Times:
        """The places of the rows to keep, of sorted times: the last row by each instant of the grids, and by the ends
        of the window and of each life; the lowest and highest of each of `extremes` in each second; the last."""
        if not len(times_ns):
            return np.empty(0, np.int64)
        last = np.zeros(len(times_ns), np.bool_)
        last[-1] = True
        for grid in grids:
            last[:-1] |= np.diff((times_ns - grid.origin_ns - 1) // grid.step_ns) > 0
        before = np.searchsorted(times_ns, self._cuts, side="right")
        last[before[before > 0] - 1] = True
        if self.closely is not None:
            last |= self.closely.mask(times_ns)
        places = [np.flatnonzero(last)]
        if extremes:
            seconds = times_ns // SECOND_NS
            starts = np.flatnonzero(np.concatenate([[True], seconds[1:] != seconds[:-1]]))
            places += [_lowest(sign * column.astype(np.float64), starts) for column in extremes for sign in (1, -1)]
        return np.unique(np.concatenate(places)).astype(np.int64)


def _lowest(values: Values, starts: NDArray[np.intp]) -> NDArray[np.intp]:
    """The place of the first lowest value of each part that begins at one of `starts`."""
    sizes = np.diff(starts, append=len(values))
    hits = np.flatnonzero(values == np.repeat(np.minimum.reduceat(values, starts), sizes))
    return hits[np.searchsorted(hits, starts)]


def is_long(run: RunDir, table: str) -> bool:
    """Whether a table has more rows than are kept whole. Raises StoreError."""
    return run.length(table) > WHOLE_ROWS
