"""Queues: length over time, and the fate of packets, from exact records of packets."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from netwarp.stats.distinct import HeldTally, Tally, distinct
from netwarp.stats.weighting import (
    Times,
    TimeWeighted,
    Values,
    Window,
    lowest,
    weighted_mean,
    weighted_percentiles,
)
from netwarp.store.codes import Fate

CE = 3
"""Congestion Experienced, the value of the ECN bits of an IP header (RFC 3168)."""
Numbers = NDArray[np.int32]

_NEVER = int(np.iinfo(np.int64).min)
_EVER = int(np.iinfo(np.int64).max)
_ABSENT = -1


@dataclass(frozen=True)
class Packets:
    """One queue's packets, columns of equal length; absent times are `_NEVER`, absent numbers -1.

    A row counts as its `segments`, its number of packets on the wire.
    """

    enqueue_ns: Times
    dequeue_ns: Times
    drop_ns: Times
    length: Numbers
    length_after: Numbers
    fate: NDArray[np.uint8]
    ecn_in: NDArray[np.uint8]
    ecn_out: NDArray[np.int8]
    segments: Numbers
    frame_bytes: Numbers
    drop_reason: Numbers

    @property
    def dropped_on_enqueue(self) -> NDArray[np.bool_]:
        """Whether each packet was dropped or redirected on arrival and never was in the queue."""
        away: NDArray[np.bool_] = ((self.fate == Fate.DROPPED) | (self.fate == Fate.TAKEN)) & (
            self.drop_ns <= self.enqueue_ns
        )
        return away


@dataclass
class LengthSteps:
    """A queue's length over time, from packets that come part by part, in the order in which they left.

    An instant with only arrivals, or only departures, has the length that the kernel reported. If both happen at one
    instant (which is common in virtual time, while packets are processed), their order is unknown, so the length is
    counted from the last instant that is certain.
    """

    _open: tuple[Times, Numbers, Numbers] | None = None
    """Events that are not settled yet: their times, the change of the length, the length reported with it or -1."""
    _length: int = 0

    def add(self, packets: Packets, until_ns: int = _EVER) -> tuple[Times, Values]:
        """Return the length after each instant before `until_ns`: (instants, strictly increasing; length from then on).

        No later packet may have come before `until_ns`.
        """
        stayed = ~packets.dropped_on_enqueue
        left = np.where(packets.fate == Fate.SENT, packets.dequeue_ns, packets.drop_ns)
        leaves = stayed & (packets.fate != Fate.QUEUED)
        times = np.concatenate([packets.enqueue_ns[stayed], left[leaves]])
        change = np.concatenate([packets.segments[stayed], -packets.segments[leaves]])
        reported = np.concatenate([packets.length[stayed], packets.length_after[leaves]])
        if self._open is not None:
            before = self._open
            times = np.concatenate([before[0], times])
            change, reported = np.concatenate([before[1], change]), np.concatenate([before[2], reported])
        order = np.argsort(times, kind="stable")
        times, change, reported = times[order], change[order], reported[order]
        settled = int(np.searchsorted(times, until_ns, side="left"))
        self._open = times[settled:].copy(), change[settled:].copy(), reported[settled:].copy()
        if not settled:
            return np.empty(0, np.int64), np.empty(0)
        instants, lengths, self._length = _settle(times[:settled], change[:settled], reported[:settled], self._length)
        return instants, lengths


def length_steps(packets: Packets) -> tuple[Times, Values]:
    """Return the length over time of a queue whose packets are all at hand; see `LengthSteps`."""
    return LengthSteps().add(packets)


def _settle(times: Times, change: Numbers, reported: Numbers, before: int) -> tuple[Times, Values, int]:
    """Return one length per instant, from sorted events: the change, and the length reported with it or -1.

    `before` is the length before them, and the last value that after them; both may be below 0, as counted.
    """
    first = np.empty(len(times), np.bool_)
    first[0] = True
    np.not_equal(times[1:], times[:-1], out=first[1:])
    starts = np.flatnonzero(first)
    sizes = np.diff(starts, append=len(times))
    lengths = reported[starts].astype(np.int64)
    tied = np.flatnonzero(sizes > 1)
    if len(tied):
        members = np.repeat(sizes > 1, sizes)
        lengths[tied] = _agreed(change[members], reported[members], sizes[tied])
    last = int(lengths[-1])
    if lengths.min() == _ABSENT:
        counted = np.cumsum(change, dtype=np.int64)[starts + sizes - 1]
        known = lengths != _ABSENT
        last_known = np.maximum.accumulate(np.where(known, np.arange(len(starts)), -1))
        offset = np.where(last_known >= 0, (lengths - counted)[np.maximum(last_known, 0)], before)
        last = last if known[-1] else int(counted[-1] + offset[-1])
        lengths = np.where(known, lengths, np.maximum(counted + offset, 0))
    return times[starts], lengths.astype(np.float64), last


def _agreed(change: Numbers, reported: Numbers, sizes: Numbers) -> Numbers:
    """The length after each group of `sizes` events of one instant; _ABSENT if it depends on their order."""
    starts = np.cumsum(sizes) - sizes
    net = np.add.reduceat(change, starts)
    gross = np.add.reduceat(np.abs(change), starts)
    highest = np.maximum.reduceat(reported, starts)
    # numpy 2.5 refuses a number that the array's own type has not.
    lowest = np.minimum.reduceat(np.where(reported == _ABSENT, np.iinfo(reported.dtype).max, reported), starts)
    lengths = np.where(net == gross, highest, np.where(net == -gross, lowest, _ABSENT))
    return np.where(highest == _ABSENT, _ABSENT, lengths).astype(np.int64)


@dataclass
class QueueTally:
    """Drops, marks, lengths and sojourns of a queue in a window, from parts of its packets; see `LengthSteps.add`."""

    window: Window
    sojourns: Tally = field(default_factory=Tally)
    """The nanoseconds that each packet was in the queue that left it in the window to be sent."""
    drops: int = 0
    marks: int = 0
    sent_bytes: int = 0
    by_reason: Counter[int] = field(default_factory=Counter)
    """Dropped packets by the number of the kernel's reason."""
    packets: int = 0
    """All packets, also outside of the window."""
    _came: int = 0
    _left: int = 0
    _peak: float = 0.0
    _steps: LengthSteps = field(default_factory=LengthSteps)
    _lengths: HeldTally = field(init=False)

    def __post_init__(self) -> None:
        self._lengths = HeldTally(self.window)
        self._lengths.add(np.array([_NEVER // 2]), np.array([0]))  # an unused queue has length 0

    def add(self, packets: Packets, until_ns: int = _EVER) -> None:
        """Count packets."""
        window = self.window
        self._lengths.add(*self._steps.add(packets, until_ns))
        arrived = packets.length[~packets.dropped_on_enqueue & window.mask(packets.enqueue_ns)]
        self._peak = max(self._peak, float(np.max(arrived, initial=0)))
        sent = (packets.fate == Fate.SENT) & window.mask(packets.dequeue_ns)
        dropped = (packets.fate == Fate.DROPPED) & window.mask(packets.drop_ns)
        marked = (packets.ecn_out == CE) & (packets.ecn_in != CE) & window.mask(packets.dequeue_ns)
        self.sojourns.add((packets.dequeue_ns - packets.enqueue_ns)[sent], packets.segments[sent])
        self.drops += _count(packets, dropped)
        self.marks += _count(packets, marked)
        self.sent_bytes += int(packets.frame_bytes[sent].sum(dtype=np.int64))
        reasons, counts = distinct(packets.drop_reason[dropped], packets.segments[dropped])
        self.by_reason.update(dict(zip(reasons.tolist(), counts.tolist(), strict=True)))
        self.packets += len(packets.fate)
        self._came += _count(packets, window.mask(packets.enqueue_ns))
        self._left += _count(packets, sent)

    @property
    def sent_pkts(self) -> int:
        """Packets that left it in the window to be sent."""
        return self._left

    def lengths(self) -> TimeWeighted:
        """Its lengths in packets with their times. Nothing can be added afterwards."""
        self._lengths.add(*self._steps.add(_NONE))
        return self._lengths.weighted()

    def sojourns_ms(self) -> TimeWeighted:
        """The times in the queue, ms, each with its number of packets."""
        return self.sojourns.weighted(1e6)

    def metrics(self) -> dict[str, float | int | None]:
        """Length in packets (minimum, mean over time, maximum), sojourn (a packet counting once; absent without
        packets), drops, marks, and both in percent: of arrived and of sent packets; None if there were none."""
        held, sojourns = self.lengths(), self.sojourns_ms()
        names = ("sojourn_ms_p50", "sojourn_ms_p95", "sojourn_ms_p99", "sojourn_ms_max")
        percentiles = weighted_percentiles(sojourns, (50, 95, 99, 100)) or ()
        return {
            "length_pkts_min": lowest(held),
            "length_pkts_mean": weighted_mean(held),
            "length_pkts_max": max(self._peak, float(np.max(held.values, initial=0.0))),
            "sojourn_ms_mean": weighted_mean(sojourns),
            **dict.fromkeys(names),
            **dict(zip(names, percentiles, strict=False)),
            "drops": self.drops,
            "marks": self.marks,
            "drop_pct": 100 * self.drops / self._came if self._came else None,
            "mark_pct": 100 * self.marks / self._left if self._left else None,
        }


def _count(packets: Packets, chosen: NDArray[np.bool_]) -> int:
    """The number of packets on the wire in these rows."""
    return int(packets.segments[chosen].sum())


def no_packets() -> Packets:
    """The columns of a queue without packets."""
    times, numbers = np.empty(0, np.int64), np.empty(0, np.int32)
    small = np.empty(0, np.uint8)
    return Packets(times, times, times, numbers, numbers, small, small, small.astype(np.int8), *[numbers] * 3)


_NONE = no_packets()
