"""Consumption over time: a power that changes in steps, and the energy of each packet in addition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from netwarp.stats.weighting import Times, Values, Window


@dataclass(frozen=True)
class Packets:
    """Packets in the order of the times at which they leave or reach the modelled part; columns of equal
    length. `sent` is False for those that a node receives."""

    times_ns: Times
    frame_bytes: NDArray[np.int64]
    segments: NDArray[np.int64]
    tuples: NDArray[np.int64]
    sent: NDArray[np.bool_]

    def __len__(self) -> int:
        """The number of packets."""
        return len(self.times_ns)


def in_order(parts: Sequence[Packets]) -> Packets:
    """Several sequences of packets as one, in the order of their times; of equal times the earlier sequence first."""
    times = np.concatenate([part.times_ns for part in parts] or [np.empty(0, np.int64)])
    order = np.argsort(times, kind="stable")
    each = ("frame_bytes", "segments", "tuples", "sent")
    return Packets(times[order], *(np.concatenate([getattr(part, name) for part in parts])[order] for name in each))


@dataclass(frozen=True)
class Consumption:
    """The consumption of a node or of a link's direction: `watts` from each of `from_ns` on, the first before any
    packet, and `packet_j` for each packet. `asleep` says in which of these times it sleeps, `wakes_ns` when it woke;
    both are None if it cannot sleep. `delay_ns` is the delay that waking would add to each packet, None if unknown."""

    from_ns: Times
    watts: Values
    packets: Packets
    packet_j: Values
    asleep: NDArray[np.bool_] | None = None
    wakes_ns: Times | None = None
    delay_ns: Values | None = None

    @cached_property
    def _total_j(self) -> Values:
        """The joules until each of `from_ns`, without those of packets."""
        return np.concatenate([[0.0], np.cumsum(self.watts[:-1] * np.diff(self.from_ns) / 1e9)])

    @cached_property
    def _asleep_ns(self) -> Values:
        """The time asleep until each of `from_ns`."""
        assert self.asleep is not None
        return np.concatenate([[0.0], np.cumsum(np.where(self.asleep[:-1], np.diff(self.from_ns), 0))])

    def _until(self, times_ns: Times, totals: Values, slopes: Values) -> Values:
        """The integral until each time of a quantity that has these totals and slopes from each of `from_ns` on."""
        at = np.maximum(np.searchsorted(self.from_ns, times_ns, side="right") - 1, 0)
        found: Values = totals[at] + slopes[at] * (times_ns - self.from_ns[at])
        return found

    def standing_j(self, edges_ns: Times) -> Values:
        """The joules between each pair of instants, without those of packets."""
        return np.diff(self._until(edges_ns, self._total_j, self.watts / 1e9))

    def joules(self, edges_ns: Times) -> Values:
        """The joules between each pair of instants; those of a packet count when it leaves or arrives."""
        packets_j = np.concatenate([[0.0], np.cumsum(self.packet_j)])
        return self.standing_j(edges_ns) + np.diff(packets_j[np.searchsorted(self.packets.times_ns, edges_ns)])

    def asleep_ns(self, window: Window) -> float | None:
        """The time asleep in the window; None if it cannot sleep."""
        if self.asleep is None:
            return None
        edges = np.array(window.bounds, np.int64)
        return float(np.diff(self._until(edges, self._asleep_ns, self.asleep.astype(np.float64)))[0])

    def wakes(self, window: Window) -> int | None:
        """How often it woke in the window; None if it cannot sleep."""
        return None if self.wakes_ns is None else int(window.mask(self.wakes_ns).sum())

    def mean_delay_ms(self, window: Window) -> float | None:
        """The mean delay that waking would have added to the packets of the window; None if unknown or without any."""
        if self.delay_ns is None or not (mask := window.mask(self.packets.times_ns)).any():
            return None
        return float(self.delay_ns[mask].mean()) / 1e6


def by_tuple(whole: Sequence[Consumption], window: Window) -> dict[int, float]:
    """The joules of each tuple in the window, for a node or both directions of a link: those of its packets, and a
    share of the rest by their bytes. Without packets the rest belongs to no tuple.
    """
    masks = [window.mask(one.packets.times_ns) for one in whole]
    tuples = np.concatenate([one.packets.tuples[mask] for one, mask in zip(whole, masks, strict=True)])
    sizes = np.concatenate([one.packets.frame_bytes[mask] for one, mask in zip(whole, masks, strict=True)])
    joules = np.concatenate([one.packet_j[mask] for one, mask in zip(whole, masks, strict=True)])
    if not sizes.sum():
        return {}
    standing = sum(float(one.standing_j(np.array(window.bounds, np.int64))[0]) for one in whole)
    keys, rows = np.unique(tuples, return_inverse=True)
    own = np.bincount(rows, joules) + standing * np.bincount(rows, sizes) / sizes.sum()
    return {int(key): float(value) for key, value in zip(keys, own, strict=True)}


def steady(watts: float, packets: Packets, packet_j: Values) -> Consumption:
    """A consumption of the same power at all times, beside that of packets."""
    return Consumption(np.array([0], np.int64), np.array([watts]), packets, packet_j)
