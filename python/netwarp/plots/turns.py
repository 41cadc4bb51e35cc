"""The drawing order of the curves of one panel, so that none hides another.

Curves that coincide are in front in turn, each for a short stretch of time. A curve that is hidden by another, but does
not hide it, is in front of that one. No dashes are used, and nothing changes where curves are apart.
"""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from netwarp.plots.timeseries.figure_spec import Curve, Values

_SLOTS, _COLUMNS = 36, 12
"""The number of stretches of a panel, and of columns that are examined in each stretch."""
LINE, LINE_IN_A_COLUMN = 0.009, 0.02
"""The width of a line, as a part of a panel's height: in a figure as wide as a page, and in one as wide as a column."""
_HIDDEN = 0.6
"""The part of a curve's ink from which it is hidden in a column, and the part of columns from which in a stretch."""

Stretch = tuple[float, float]
_Extents = tuple[NDArray[np.float64], NDArray[np.float64]]


def stretches_in_front(
    curves: Sequence[Curve],
    owners: Sequence[int],
    window: Stretch,
    heights: Stretch,
    *,
    steps: bool,
    line: float = LINE,
) -> tuple[list[list[Stretch]], bool]:
    """The stretches in which each curve must be drawn again over later curves, and whether any curves coincide.

    `owners` tells which curves belong together and may hide each other. `heights` are the ends of the y axis, which is
    linear in the values given (pass logarithms for a logarithmic one), as the x axis is in the times. `line` is the
    width of a line, as a part of the panel's height.
    """
    found: list[list[Stretch]] = [[] for _ in curves]
    extents = [_extents(curve, window, heights, steps, line) for curve in curves]
    together = False
    edges = np.linspace(*window, _SLOTS + 1)
    hides = {(one, other): _hidden(extents[one], extents[other]) for one, other in _pairs(owners)}
    for slot in range(_SLOTS):
        pairs = [pair for pair, shares in hides.items() if shares[slot] >= _HIDDEN]
        mutual = [pair for pair in pairs if pair[::-1] in pairs]
        groups = _groups(mutual)
        together = together or bool(groups)
        front = [group[slot % len(group)] for group in groups]
        front += [one for one, other in pairs if other > one and not any(one in group for group in groups)]
        for number in dict.fromkeys(front):
            found[number].append((float(edges[slot]), float(edges[slot + 1])))
    return [_merged(stretches) for stretches in found], together


def cut_out(curve: Curve, stretch: Stretch, *, steps: bool) -> Curve:
    """The curve within a stretch of time, from edge to edge of it."""
    first, last = max(stretch[0], float(curve.times[0])), min(stretch[1], float(curve.times[-1]))
    inside = (curve.times > first) & (curve.times < last)
    ends = _at(curve, np.array([first, last]), steps)
    times = np.concatenate([[first], curve.times[inside], [last]])
    return Curve(times, np.concatenate([ends[:1], curve.values[inside], ends[1:]]))


def _pairs(owners: Sequence[int]) -> list[tuple[int, int]]:
    both = [(one, other) for one, other in combinations(range(len(owners)), 2) if owners[one] != owners[other]]
    return [pair for one, other in both for pair in ((one, other), (other, one))]


def _at(curve: Curve, times: Values, steps: bool) -> Values:
    """The curve's values at these times, which are within it."""
    if steps:
        at = np.clip(np.searchsorted(curve.times, times, side="right") - 1, 0, len(curve.times) - 1)
        return np.asarray(curve.values[at], dtype=np.float64)
    return np.interp(times, curve.times, curve.values)


def _extents(curve: Curve, window: Stretch, heights: Stretch, steps: bool, line: float) -> _Extents:
    """The lowest and highest ink of the curve in each column, in parts of the panel's height; NaN if it has none."""
    count = _SLOTS * _COLUMNS
    low, high = np.full(count, np.inf), np.full(count, -np.inf)
    if len(curve.times):
        edges = np.linspace(*window, count + 1)
        held = np.where((edges >= curve.times[0]) & (edges <= curve.times[-1]), _at(curve, edges, steps), np.nan)
        column = np.floor((curve.times - window[0]) / (window[1] - window[0]) * count).astype(np.int64)
        inside = (column >= 0) & (column < count)
        for places, values in (
            (column[inside], curve.values[inside]),
            (np.arange(count), held[:-1]),
            *(() if steps else ((np.arange(count), held[1:]),)),
        ):
            known = np.isfinite(values)
            np.minimum.at(low, places[known], values[known])
            np.maximum.at(high, places[known], values[known])
    some = low <= high
    span = (heights[1] - heights[0]) or 1.0
    low, high = np.where(some, low, np.nan), np.where(some, high, np.nan)
    return (low - heights[0]) / span - line / 2, (high - heights[0]) / span + line / 2


def _hidden(one: _Extents, other: _Extents) -> NDArray[np.float64]:
    """The part of the columns of each stretch in which the one would be hidden by the other."""
    with np.errstate(invalid="ignore"):
        common = np.minimum(one[1], other[1]) - np.maximum(one[0], other[0])
        hidden = common >= _HIDDEN * (one[1] - one[0])
    there = np.isfinite(one[0]).reshape(_SLOTS, _COLUMNS).sum(axis=1)
    shares: NDArray[np.float64] = hidden.reshape(_SLOTS, _COLUMNS).sum(axis=1) / np.maximum(there, 1)
    return np.where(there > 0, shares, 0.0)


def _groups(mutual: Sequence[tuple[int, int]]) -> list[list[int]]:
    """The groups of curves that hide each other."""
    groups: list[set[int]] = []
    for one, other in mutual:
        touched = [group for group in groups if one in group or other in group]
        groups = [group for group in groups if group not in touched] + [{one, other}.union(*touched)]
    return [sorted(group) for group in groups]


def _merged(stretches: Sequence[Stretch]) -> list[Stretch]:
    found: list[Stretch] = []
    for begin, end in stretches:
        if found and found[-1][1] == begin:
            found[-1] = (found[-1][0], end)
        else:
            found.append((begin, end))
    return found
