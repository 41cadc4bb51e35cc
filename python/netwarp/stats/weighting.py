"""Statistics of states, which last, and of events, which do not.

A state (RTT, window, queue length) is weighted by the time that it held: under changing rates a percentile over ACKs
would neglect the slow phases, because they have few ACKs. An event (a packet's sojourn) counts once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

import numpy as np
from numpy.typing import NDArray

Times = NDArray[np.int64]
Values = NDArray[np.float64]


@dataclass(frozen=True)
class Window:
    """An interval of the run's clock, in nanoseconds; empty if the end is not after the start."""

    start_ns: int
    end_ns: int

    @property
    def length_ns(self) -> int:
        """The length of the window, never negative."""
        return max(self.end_ns - self.start_ns, 0)

    @property
    def seconds(self) -> float:
        """Its length in seconds."""
        return self.length_ns / 1e9

    @property
    def bounds(self) -> tuple[int, int]:
        """Start and end, both included."""
        return self.start_ns, self.end_ns

    def within(self, other: "Window") -> "Window":
        """The part that is also in the other window."""
        return Window(max(self.start_ns, other.start_ns), min(self.end_ns, other.end_ns))

    def mask(self, times_ns: Times) -> NDArray[np.bool_]:
        """A mask of the times that are in [start, end]."""
        return (times_ns >= self.start_ns) & (times_ns <= self.end_ns)


@dataclass(frozen=True)
class TimeWeighted:
    """Values of a state and the whole nanoseconds that each held (all greater than 0), of equal length."""

    values: Values
    weights_ns: Times

    def __len__(self) -> int:
        """The number of values."""
        return len(self.values)


def time_weighted(times_ns: Times, values: Values, window: Window) -> TimeWeighted:
    """Let each sample hold until the next, the last one until the window's end; keep the part in the window.

    `times_ns` must be sorted. The last sample before the window holds into it. Time before the first sample does not
    count. Of samples at one instant the last one holds.
    """
    edges = np.append(times_ns, max(window.end_ns, int(times_ns[-1]) if len(times_ns) else 0))
    weights = np.diff(np.clip(edges, window.start_ns, max(window.end_ns, window.start_ns)))
    kept = weights > 0
    return TimeWeighted(values[kept].astype(np.float64), weights[kept].astype(np.int64))


def pool(parts: Sequence[TimeWeighted]) -> TimeWeighted:
    """Join several states to one, in which the time of each counts equally."""
    if not parts:
        return TimeWeighted(np.empty(0), np.empty(0, np.int64))
    return TimeWeighted(np.concatenate([p.values for p in parts]), np.concatenate([p.weights_ns for p in parts]))


def weighted_mean(held: TimeWeighted) -> float | None:
    """The mean over time, Σ(value × time) / Σ time; None if empty."""
    total = int(held.weights_ns.sum())
    return weighted_sum(held.values, held.weights_ns.astype(np.float64)) / total if total else None


def weighted_sum(values: Values, weights: Values | Times) -> float:
    """Σ(value × weight), in numpy's order of summation (pairwise).

    np.dot() divides it among the threads of a linear-algebra library: its last digits depend on the number of CPUs.
    """
    return float((values * weights).sum())


def weighted_percentiles(held: TimeWeighted, percents: Sequence[float]) -> list[float] | None:
    """The smallest values that the state did not exceed for p % of the time, for each percent p; None if empty.

    The inverse of the empirical distribution function (Hyndman and Fan 1996, type 1), weighted, in exact integers.
    """
    if len(held) == 0:
        return None
    order = np.argsort(held.values, kind="stable")
    reached = np.cumsum(held.weights_ns[order])
    total = int(reached[-1])
    ranks = [max(ceil(Fraction(p) * total / 100), 1) for p in percents]
    return [float(held.values[order[np.searchsorted(reached, rank, side="left")]]) for rank in ranks]


def lowest(held: TimeWeighted) -> float | None:
    """The smallest value that held for any time; None if empty."""
    return float(held.values.min()) if len(held) else None


def percentile(values: Values, percent: float) -> float | None:
    """A percentile of events: the smallest value that at least p % of them do not exceed; None if empty."""
    if len(values) == 0:
        return None
    rank = max(ceil(Fraction(percent) * len(values) / 100), 1)
    return float(np.partition(values, rank - 1)[rank - 1])


def growth(times_ns: Times, counter: NDArray[np.uint64] | NDArray[np.int64], window: Window) -> int | None:
    """The growth of a counter that starts from 0 in the window: last value by its end minus last value by its start.

    `times_ns` must be sorted. None if there is no sample by the window's end.
    """
    last = int(np.searchsorted(times_ns, window.end_ns, side="right"))
    first = int(np.searchsorted(times_ns, window.start_ns, side="right"))
    if last == 0:
        return None
    return int(counter[last - 1]) - (int(counter[first - 1]) if first else 0)


def cumulative(held: TimeWeighted, points: int = 600) -> tuple[Values, Values]:
    """The empirical distribution function: (values, sorted; share of the weight at or below each), about `points`.

    It is thinned evenly in the share, with both ends kept, so that a steep part keeps its shape. It ends below 1 if
    only a lower bound of the rest is known.
    """
    if len(held) == 0:
        return np.empty(0), np.empty(0)
    order = np.argsort(held.values, kind="stable")
    values = held.values[order]
    shares = np.cumsum(held.weights_ns[order]) / int(held.weights_ns.sum())
    known = np.isfinite(values)
    values, shares = values[known], shares[known]
    if len(values) > points:
        kept = np.unique(np.append(np.searchsorted(shares, np.linspace(0, 1, points)), len(values) - 1))
        kept = kept[kept < len(values)]
        values, shares = values[kept], shares[kept]
    return values, shares
