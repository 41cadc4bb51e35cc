"""Bytes over time."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from netwarp.stats.weighting import Times, Values, Window
from netwarp.store.description import End

Counter = NDArray[np.uint64] | NDArray[np.int64]


def throughput_per_interval(
    times_ns: Times, counter: Counter, window: Window, interval_ns: int
) -> tuple[Values, Values]:
    """Return the counter's growth in each whole interval of the window: (middle in s, Mbit/s)."""
    edges: Times = np.arange(window.start_ns, window.end_ns + 1, interval_ns, dtype=np.int64)
    before = np.searchsorted(times_ns, edges, side="right")
    values = np.concatenate([[0], counter.astype(np.int64)])[before]
    middles: Values = (edges[:-1] + interval_ns / 2).astype(np.float64) / 1e9
    return middles, np.diff(values) * 8e3 / interval_ns


def sampled_per_interval(times_ns: Times, counter: Counter, window: Window, interval_ns: int) -> tuple[Values, Values]:
    """Return the same for a sampled counter, which is assumed to grow linearly between two samples.

    Otherwise an interval with two samples, or with none, would look like a peak or a pause.
    """
    edges: Times = np.arange(window.start_ns, window.end_ns + 1, interval_ns, dtype=np.int64)
    values = np.interp(edges, times_ns, counter.astype(np.float64))
    middles: Values = (edges[:-1] + interval_ns / 2).astype(np.float64) / 1e9
    return middles, np.diff(values) * 8e3 / interval_ns


def capacity_bits(end: End, window: Window) -> float | None:
    """The bits that an end of a link could have sent in the window, by its rate, or its opportunities in [start, end].

    None if neither is known.
    """
    if end.opportunities is not None:
        before, by_then = end.opportunities.bits_until(np.array([window.start_ns - 1, window.end_ns], dtype=np.int64))
        return float(by_then - before) if window.length_ns else 0.0
    if end.rates is None:
        return None
    starts = [start for start, _ in end.rates] + [2**62]
    spans = [
        Window(start, until).within(window).seconds * rate
        for (start, rate), until in zip(end.rates, starts[1:], strict=True)
    ]
    return sum(spans)


def capacity_until(end: End, times_ns: Times) -> Values | None:
    """The bits that an end of a link could have sent from time 0 to each of these times, which are not negative; None
    if unknown."""
    if end.opportunities is not None:
        return end.opportunities.bits_until(times_ns)
    if end.rates is None:
        return None
    starts, speeds, sent = _spans(end.rates)
    at = np.maximum(np.searchsorted(starts, times_ns, side="right") - 1, 0)
    capacity: Values = sent[at] + (times_ns - starts[at]) / 1e9 * speeds[at]
    return capacity


@lru_cache
def _spans(rates: tuple[tuple[int, int], ...]) -> tuple[Times, Values, Values]:
    """The starts of the spans of a rate, their rates, and the bits that could be sent before each.

    They are kept, since each flow of a link asks for them.
    """
    starts = np.array([max(start, 0) for start, _ in rates], dtype=np.int64)
    speeds = np.array([rate for _, rate in rates], dtype=np.float64)
    sent = np.concatenate([[0.0], np.cumsum(np.diff(starts) / 1e9 * speeds[:-1])])
    return starts, speeds, sent


def utilisation(sent_bytes: int, sent_pkts: int, end: End, window: Window) -> float | None:
    """Sent bits on the wire divided by the link's capacity, 0..1; frames count with their Ethernet header, as in tc, or
    as the link's opportunities count them.

    Values slightly above 1 are possible: the frame on the wire at the window's start counts as a whole.
    """
    capacity = capacity_bits(end, window)
    return (sent_bytes + sent_pkts * end.overhead_bytes) * 8 / capacity if capacity else None


def loss_pct(sent: int | None, received: int | None) -> float | None:
    """The loss in percent of the sent packets; None if nothing was sent or a count is unknown."""
    return 100 * (1 - min(received / sent, 1.0)) if sent and received is not None else None
