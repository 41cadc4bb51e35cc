"""Round-trip times: of senders' ACKs, as states weighted by time, and of echo requests, as samples of a state."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from netwarp.stats.weighting import Times, TimeWeighted, Values, Window, weighted_mean, weighted_percentiles


@dataclass(frozen=True)
class Pings:
    """Echo requests of a flow, in the order sent; `rtts_ms` is NaN where no reply came."""

    sent_ns: Times
    rtts_ms: Values

    @property
    def answered(self) -> NDArray[np.bool_]:
        """Whether each request had a reply."""
        return ~np.isnan(self.rtts_ms)


def rtt_metrics(rtts_ms: TimeWeighted) -> dict[str, float | None]:
    """Mean, percentiles and maximum of RTTs in ms, weighted by the time each held."""
    percentiles = weighted_percentiles(rtts_ms, (50, 95, 99, 100)) or []
    names = ("rtt_ms_p50", "rtt_ms_p95", "rtt_ms_p99", "rtt_ms_max")
    return {"rtt_ms_mean": weighted_mean(rtts_ms), **dict(zip(names, percentiles, strict=False))}


def increase_metrics(rtts: Mapping[str, float | None], lowest_ms: Sequence[float | None]) -> dict[str, float | None]:
    """The lowest RTT of all flows, and by how much the mean and the 95th percentile exceed it."""
    present = [lowest for lowest in lowest_ms if lowest is not None]
    lowest = min(present) if present and len(present) == len(lowest_ms) else None
    found = {"rtt_ms_min": lowest}
    for statistic in ("mean", "p95"):
        rtt = rtts.get(f"rtt_ms_{statistic}")
        found[f"rtt_increase_ms_{statistic}"] = rtt - lowest if rtt is not None and lowest is not None else None
    return found


def power(goodput_mbps: float | None, rtt_ms: float | None) -> float | None:
    """Throughput over delay, Mbit/s for each second of RTT (Kleinrock 1979); None if either is unknown."""
    return goodput_mbps / (rtt_ms / 1e3) if goodput_mbps is not None and rtt_ms else None


def pings_in(pings: Pings, window: Window) -> Pings:
    """The requests sent in the window."""
    inside = window.mask(pings.sent_ns)
    return Pings(pings.sent_ns[inside], pings.rtts_ms[inside])


def ping_losses(pings: Pings, window: Window) -> tuple[int, int]:
    """The numbers of requests in the window without a reply, and of all requests.

    Requests within the longest RTT before the window's end do not count, answered or not: one without a reply may only
    have been cut off, and counting only the answered ones would make the loss too small.
    """
    within = pings_in(pings, window)
    longest_ms = np.max(within.rtts_ms[within.answered], initial=0.0)
    known = within.sent_ns <= window.end_ns - longest_ms * 1e6
    return int((known & ~within.answered).sum()), int(known.sum())


def ping_jitter_ms(pings: Pings) -> float | None:
    """Mean absolute difference of successive RTTs (as RFC 3550's jitter, not smoothed); None for fewer than two."""
    replies = pings.rtts_ms[pings.answered]
    return float(np.mean(np.abs(np.diff(replies)))) if len(replies) > 1 else None
