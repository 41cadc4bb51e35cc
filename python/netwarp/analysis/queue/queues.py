"""Queues: length over time, and the fate of packets, from exact records of packets."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from netwarp.stats.weighting import Times, Values, Window, lowest, percentile, time_weighted, weighted_mean
from netwarp.store.codes import Fate

CE = 3
"""Congestion Experienced, the value of the ECN bits of an IP header (RFC 3168)."""
Numbers = NDArray[np.int32]

_NEVER = np.iinfo(np.int64).min
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

    @property
    def dropped_on_enqueue(self) -> NDArray[np.bool_]:
        """Whether each packet was dropped or redirected on arrival and never was in the queue."""
        away: NDArray[np.bool_] = ((self.fate == Fate.DROPPED) | (self.fate == Fate.TAKEN)) & (
            self.drop_ns <= self.enqueue_ns
        )
        return away


def length_steps(packets: Packets) -> tuple[Times, Values]:
    """Return the queue's length over time: (instants, strictly increasing; length from then on).

    An instant with only arrivals, or only departures, has the length that the kernel reported. If both happen at one
    instant (which is common in virtual time, while packets are processed), their order is unknown, so the length is
    counted from the last instant that is certain.
    """
    stayed = ~packets.dropped_on_enqueue
    left = np.where(packets.fate == Fate.SENT, packets.dequeue_ns, packets.drop_ns)
    leaves = stayed & (packets.fate != Fate.QUEUED)
    times = np.concatenate([packets.enqueue_ns[stayed], left[leaves]])
    if len(times) == 0:
        return np.empty(0, np.int64), np.empty(0)
    change = np.concatenate([packets.segments[stayed], -packets.segments[leaves]])
    reported = np.concatenate([packets.length[stayed], packets.length_after[leaves]])
    order = np.argsort(times, kind="stable")
    times, change, reported = times[order], change[order], reported[order]
    del order, left, leaves, stayed  # of a long run's tens of megabytes each
    return _settle(times, change, reported)


def _settle(times: Times, change: Numbers, reported: Numbers) -> tuple[Times, Values]:
    """Return one length per instant, from sorted events: the change, and the length reported with it or -1."""
    first = np.empty(len(times), np.bool_)
    first[0] = True
    np.not_equal(times[1:], times[:-1], out=first[1:])
    starts = np.flatnonzero(first)
    sizes = np.diff(starts, append=len(times))
    lengths = reported[starts]
    tied = np.flatnonzero(sizes > 1)
    if len(tied):
        members = np.repeat(sizes > 1, sizes)
        lengths[tied] = _agreed(change[members], reported[members], sizes[tied])
    if lengths.min() == _ABSENT:
        counted = np.cumsum(change, dtype=np.int64)[starts + sizes - 1]
        known = lengths != _ABSENT
        last_known = np.maximum.accumulate(np.where(known, np.arange(len(starts)), -1))
        offset = np.where(last_known >= 0, (lengths - counted)[np.maximum(last_known, 0)], 0)
        lengths = np.where(known, lengths, np.maximum(counted + offset, 0))
    return times[starts], lengths.astype(np.float64)


def _agreed(change: Numbers, reported: Numbers, sizes: Numbers) -> Numbers:
    """The length after each group of `sizes` events of one instant; _ABSENT if it depends on their order."""
    starts = np.cumsum(sizes) - sizes
    net = np.add.reduceat(change, starts)
    gross = np.add.reduceat(np.abs(change), starts)
    highest = np.maximum.reduceat(reported, starts)
    lowest = np.minimum.reduceat(np.where(reported == _ABSENT, np.iinfo(np.int64).max, reported), starts)
    lengths = np.where(net == gross, highest, np.where(net == -gross, lowest, _ABSENT))
    return np.where(highest == _ABSENT, _ABSENT, lengths).astype(np.int64)


def length_metrics(packets: Packets, window: Window) -> dict[str, float | None]:
    """Minimum, mean over time and maximum of the length in packets; an unused queue has length 0."""
    times, lengths = length_steps(packets)
    times, lengths = np.concatenate([[_NEVER // 2], times]), np.concatenate([[0.0], lengths])
    held = time_weighted(times, lengths, window)
    arrived = packets.length[~packets.dropped_on_enqueue & window.mask(packets.enqueue_ns)]
    peak = max(float(np.max(arrived, initial=0)), float(np.max(held.values, initial=0.0)))
    return {"length_pkts_min": lowest(held), "length_pkts_mean": weighted_mean(held), "length_pkts_max": peak}


def sojourns_ms(packets: Packets, window: Window) -> Values:
    """Time in the queue, ms, of each packet that left it in the window to be sent."""
    sent = (packets.fate == Fate.SENT) & window.mask(packets.dequeue_ns)
    values: Values = (packets.dequeue_ns[sent] - packets.enqueue_ns[sent]) / 1e6
    return np.repeat(values, packets.segments[sent])


def sojourn_metrics(packets: Packets, window: Window) -> dict[str, float | None]:
    """Mean, percentiles and maximum of the sojourn, a packet counting once; absent without packets."""
    values = sojourns_ms(packets, window)
    return {
        "sojourn_ms_mean": float(values.mean()) if len(values) else None,
        "sojourn_ms_p50": percentile(values, 50),
        "sojourn_ms_p95": percentile(values, 95),
        "sojourn_ms_p99": percentile(values, 99),
        "sojourn_ms_max": percentile(values, 100),
    }


def drops(packets: Packets, window: Window) -> int:
    """Packets dropped by the queue in the window, on arrival or later."""
    return _count(packets, (packets.fate == Fate.DROPPED) & window.mask(packets.drop_ns))


def marks(packets: Packets, window: Window) -> int:
    """Packets that left with Congestion Experienced (RFC 3168) and had arrived without."""
    marked = (packets.ecn_out == CE) & (packets.ecn_in != CE)
    return _count(packets, marked & window.mask(packets.dequeue_ns))


def rate_metrics(packets: Packets, window: Window) -> dict[str, float | None]:
    """Drops in percent of arrived packets, and marks in percent of sent packets; None if there were none."""
    came = _count(packets, window.mask(packets.enqueue_ns))
    left = _count(packets, (packets.fate == Fate.SENT) & window.mask(packets.dequeue_ns))
    return {
        "drop_pct": 100 * drops(packets, window) / came if came else None,
        "mark_pct": 100 * marks(packets, window) / left if left else None,
    }


def _count(packets: Packets, chosen: NDArray[np.bool_]) -> int:
    """The number of packets on the wire in these rows."""
    return int(packets.segments[chosen].sum())
