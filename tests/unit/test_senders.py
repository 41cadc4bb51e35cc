"""Senders that are only sampled: several connections as one, and the time between two samples."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from netwarp.analysis.flow.senders import Sender, first_threshold, together
from netwarp.analysis.queue.throughput import sampled_per_interval
from netwarp.stats.weighting import Window

S = 10**9


def sender(times: list[int], acked: list[int], cwnd: list[float], srtt: list[float], sampled: bool = True) -> Sender:
    return Sender(
        times_ns=np.array(times, np.int64),
        bytes_acked=np.array(acked, np.int64),
        cwnd_pkts=np.array(cwnd, np.float64),
        srtt_ms=np.array(srtt, np.float64),
        retransmits=np.zeros(len(times), np.int64),
        rtt_times_ns=np.empty(0, np.int64),
        rtts_ms=np.empty(0),
        sampled=sampled,
    )


def test_connections_that_were_looked_at_together_are_one_look() -> None:
    one = sender([1 * S, 2 * S, 3 * S], [10, 20, 30], [4, 5, 6], [100, 80, 60])
    other = sender([1 * S, 2 * S], [1, 2], [10, 20], [20, 40])
    both = together([one, other])
    assert both.times_ns.tolist() == [1 * S, 2 * S, 3 * S]
    assert both.bytes_acked.tolist() == [11, 22, 32]
    assert both.cwnd_pkts.tolist() == [14, 25, 26]
    assert both.srtt_ms.tolist() == [60, 60, 60], "the mean of both, and of the one that is left"
    assert both.sampled


def test_of_acks_every_one_counts() -> None:
    one = sender([1, 2], [10, 20], [4, 5], [100, 80], sampled=False)
    both = together([one, sender([1], [1], [10], [20], sampled=False)])
    assert both.bytes_acked.tolist() == [10, 11, 21]
    assert not both.sampled


def test_the_first_peak_is_the_window_before_it_first_shrinks() -> None:
    """Slow start from 10 to 2 (B + P) = 235 packets, then a sawtooth that rises higher still."""
    windows = [10.0, 20, 40, 80, 160, 235, 235, 117, 118, 300, 150]

    def peak(count: int, *, sampled: bool = False) -> float | None:
        times = list(range(count))
        return sender(times, times, windows[:count], [1.0] * count, sampled=sampled).first_peak_pkts()

    assert peak(len(windows)) == 235
    assert peak(7) is None, "it has not shrunk"
    assert peak(len(windows), sampled=True) is None, "samples miss the peak"
    assert peak(0) is None
    times = list(range(len(windows)))
    growing = [float(time) for time in times]
    rising, other = (sender(times, times, pkts, [1.0] * len(times), sampled=False) for pkts in (growing, windows))
    assert together([rising, other]).first_peak_pkts() == 235, "of two connections that of the one that shrank"


def test_slow_start_ends_at_the_first_threshold_that_is_set() -> None:
    infinite = 0x7FFFFFFF
    assert first_threshold(np.array([infinite, infinite, 632, 632, 316], np.uint32)) == 632
    assert first_threshold(np.array([infinite, infinite], np.uint32)) is None
    assert first_threshold(np.empty(0, np.uint32)) is None
    one, other = (sender([1], [1], [1], [1], sampled=False) for _ in range(2))
    assert together([replace(one, first_ssthresh_pkts=10.0), other]).first_ssthresh_pkts == 10
    assert together([one, other]).first_ssthresh_pkts is None


@pytest.mark.parametrize("late_ms", [0, 3, 400, 999])
def test_a_steady_flow_is_steady_whenever_it_was_looked_at(late_ms: int) -> None:
    """8 Mbit/s seen once a second, with a clock that drifts: no peak and no pause."""
    times = np.array([0, *(late_ms * 10**6 + round(n * 1.004 * S) for n in range(10)), 12 * S], np.int64)
    middles, values = sampled_per_interval(times, times // 1000, Window(0, 10 * S), S)
    assert values.tolist() == pytest.approx([8.0] * 10, rel=1e-5)
    assert middles[0] == 0.5
