"""A link's delivery opportunities (a Mahimahi trace) for readers of records."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from netwarp.lab_format.links import LabEnd

NS_PER_MS = 10**6

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Opportunities:
    """`counts` opportunities at each of `at_ms`, repeated every `period_ms`, each for `size_bytes`.

    A packet counts as its frame plus `overhead_bytes`.
    """

    size_bytes: int
    overhead_bytes: int
    period_ms: int
    mean_rate_bps: int
    at_ms: tuple[int, ...]
    counts: tuple[int, ...]

    def until(self, times_ns: Integers) -> Integers:
        """The number of opportunities from time 0 to each of these times, both included."""
        rounds = np.maximum(times_ns, 0) // (self.period_ms * NS_PER_MS)
        places = np.searchsorted(self._at_ns, times_ns - rounds * (self.period_ms * NS_PER_MS), side="right")
        found: Integers = np.where(times_ns < 0, 0, rounds * self._sums[-1] + self._sums[places])
        return found

    def bits_until(self, times_ns: Integers) -> NDArray[np.float64]:
        """The bits that they could have delivered by each of these times."""
        return self.until(times_ns).astype(np.float64) * (8.0 * self.size_bytes)

    @cached_property
    def _at_ns(self) -> Integers:
        return np.array(self.at_ms, dtype=np.int64) * NS_PER_MS

    @cached_property
    def _sums(self) -> Integers:
        return np.concatenate([[0], np.cumsum(np.array(self.counts, dtype=np.int64))]).astype(np.int64)


def opportunities_of(end: LabEnd) -> Opportunities | None:
    """The opportunities of an end of a link in a lab; None if it has a rate."""
    found = end.opportunities
    if found is None:
        return None
    items = [word.partition("x") for word in found.trace.split()]
    return Opportunities(
        size_bytes=found.bytes,
        overhead_bytes=found.overhead_bytes,
        period_ms=found.period_ms,
        mean_rate_bps=found.mean_rate_bps,
        at_ms=tuple(int(at_ms) for at_ms, _, _ in items),
        counts=tuple(int(count or 1) for _, _, count in items),
    )
