"""Values at given ranks among all sums of two numbers, without making all of them.

Two thousand runs have two million pairs. Sums in rows with sorted columns are counted by bisection in every row, and
the range that contains a rank is halved until few sums are left in it (as Johnson and Mizoguchi 1978 and Monahan 1984,
whose pivots are sums).
"""

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
_Indices = NDArray[np.intp]

_FEW = 1 << 15
"""The most sums that are sorted."""


def sums_at(ranks: list[int], rows: Numbers, columns: Numbers, first: _Indices) -> list[float]:
    """The sums at these ranks, from 0, among all `rows[i] + columns[j]` with j of at least `first[i]`, in ascending
    order; every row has one. `columns` are sorted, and no number is NaN.

    They are exactly those that sorting all sums yields.
    """
    low, high = float((rows + columns[first]).min()), float((rows + columns[-1]).max())
    few = len(columns) * len(rows) - int(first.sum()) <= _FEW
    if few or not np.isfinite(high - low):
        return [float(found) for found in _between(rows, columns, first, np.full(len(rows), len(columns)))[ranks]]
    return [_at(rank, rows, columns, first, (low, high)) for rank in ranks]


def _at(rank: int, rows: Numbers, columns: Numbers, first: _Indices, within: tuple[float, float]) -> float:
    low, high = within
    starts, ends = first, np.full(len(rows), len(columns))
    # The sum at the rank is in [low, high], and is one of those from `starts` to `ends`.
    while low < high and int((ends - starts).sum()) > _FEW:
        middle = min(low + (high - low) / 2, float(np.nextafter(high, low)))
        split = _end(rows, columns, starts, ends, middle)
        if rank < int((split - first).sum()):
            high, ends = middle, split
        else:
            low, starts = float(np.nextafter(middle, high)), split
    if low == high:
        return low
    return float(_between(rows, columns, starts, ends)[rank - int((starts - first).sum())])


def _end(rows: Numbers, columns: Numbers, starts: _Indices, ends: _Indices, bound: float) -> _Indices:
    """Where the sums up to `bound` end in every row, between `starts` and `ends`."""
    starts, ends = starts.copy(), ends.copy()
    while (open_ := starts < ends).any():
        middle = (starts + ends) // 2
        below = open_ & (rows + columns[np.minimum(middle, len(columns) - 1)] <= bound)
        starts = np.where(below, middle + 1, starts)
        ends = np.where(open_ & ~below, middle, ends)
    return starts


def _between(rows: Numbers, columns: Numbers, starts: _Indices, ends: _Indices) -> Numbers:
    """All sums of each row from `starts` to `ends`, sorted."""
    counts = ends - starts
    row = np.repeat(np.arange(len(rows)), counts)
    column = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts - starts, counts)
    return np.sort(rows[row] + columns[column])
