"""Reduces long series for drawing, without losing a peak."""

import numpy as np
from numpy.typing import NDArray

from netwarp.plots.timeseries.figure_spec import Values

Indices = NDArray[np.int64]
COLUMNS = 700
"""The number of columns to which a curve that is as wide as a page is reduced."""


def cut(times: Values, values: Values, window: tuple[float, float] | None) -> tuple[Values, Values]:
    """The samples in a window, with those just before and after it, so that a line enters and leaves it."""
    if window is None or not len(times):
        return times, values
    first = max(int(np.searchsorted(times, window[0], side="left")) - 1, 0)
    last = int(np.searchsorted(times, window[1], side="right")) + 1
    return times[first:last], values[first:last]


def reduce_series(times: Values, values: Values, columns: int) -> tuple[Values, Values]:
    """Keep the first, lowest, highest and last sample (and the first gap) of each of `columns` equal spans of time.

    A line through the remaining samples covers the same pixels at that width (M4: U. Jugel et al., VLDB 2014). `times`
    must be sorted; NaN values are gaps. At most 5 samples per column stay, in order; a short series stays as it is.
    """
    count = len(times)
    if count <= 4 * columns:
        return times, values
    span = float(times[-1] - times[0]) or 1.0
    column = np.minimum(((times - times[0]) * (columns / span)).astype(np.int64), columns - 1)
    starts = np.flatnonzero(np.concatenate([[True], column[1:] != column[:-1]]))
    ends = np.append(starts[1:], count) - 1
    kept = [starts, ends, _lowest(values, starts, ends), _lowest(-values, starts, ends)]
    gaps = np.flatnonzero(np.isnan(values))
    if len(gaps):
        kept.append(gaps[np.concatenate([[True], column[gaps][1:] != column[gaps][:-1]])])
    index = np.unique(np.concatenate(kept))
    return times[index], values[index]


def _lowest(values: Values, starts: Indices, ends: Indices) -> Indices:
    """The index of the first lowest sample of each span; the span's first if all are gaps."""
    filled = np.where(np.isnan(values), np.inf, values)
    hits = np.flatnonzero(filled == np.repeat(np.minimum.reduceat(filled, starts), ends - starts + 1))
    return hits[np.searchsorted(hits, starts)]
