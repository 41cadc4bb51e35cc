"""The laboratory is exact: the records show a link's calculated values."""

from __future__ import annotations

import polars as pl
import pytest
from e2e_runs import Runs
from e2e_scenarios import (
    BOTTLENECK,
    FRAME_BYTES,
    PING,
    SEGMENT_BYTES,
    dumbbell,
    packet_ns,
)
from netwarp.store.rundir import RunDir

RATES = {"1mbit": 10**6, "10mbit": 10**7, "100mbit": 10**8}
DURATION_S = {"1mbit": 600, "10mbit": 60, "100mbit": 12}
LIMITS = [20, 60, 100]


def _long_flow(runs: Runs, rate: str, limit: int = 100) -> RunDir:
    return runs(dumbbell(rate=rate, queue=f"pfifo limit {limit}", duration=f"{DURATION_S[rate]}s"))


def _departures(run: RunDir) -> pl.DataFrame:
    """Packets that left the bottleneck's queue, in order."""
    table = run.scan("packets").filter((pl.col("interface_index") == BOTTLENECK) & (pl.col("fate") == 0))
    return table.sort("dequeue_ns").collect()


def _received(run: RunDir, node: str = "h2") -> pl.DataFrame:
    """The receiver's count of payload over time."""
    return run.scan("sockets").filter(pl.col("node") == node).select("time_ns", "bytes_received").collect()


def _goodput_bps(run: RunDir, begin_ns: int, end_ns: int) -> float:
    counts = dict(_received(run).filter(pl.col("time_ns").is_in([begin_ns, end_ns])).iter_rows())
    return float((counts[end_ns] - counts[begin_ns]) * 8e9 / (end_ns - begin_ns))


@pytest.mark.parametrize("rate", RATES)
def test_goodput_is_the_rate_less_the_headers(runs: Runs, rate: str) -> None:
    end_ns = DURATION_S[rate] * 10**9
    goodput = _goodput_bps(_long_flow(runs, rate), end_ns // 2, end_ns)
    assert goodput == pytest.approx(RATES[rate] * SEGMENT_BYTES / FRAME_BYTES, rel=0.005)


@pytest.mark.parametrize("rate", RATES)
def test_full_frames_leave_a_busy_queue_one_packet_time_apart(runs: Runs, rate: str) -> None:
    packets = _departures(_long_flow(runs, rate))
    busy = (pl.col("length_after_pkts").shift(1) > 0) & (pl.col("packet_bytes").shift(1) == FRAME_BYTES)
    gaps = packets.select((pl.col("dequeue_ns").diff()).filter(busy & (pl.col("packet_bytes") == FRAME_BYTES)))
    wrong = gaps.filter((pl.col("dequeue_ns") - packet_ns(RATES[rate])).abs() > 1000)
    assert gaps.height > 1000
    assert wrong.is_empty(), wrong


@pytest.mark.parametrize("limit", LIMITS)
def test_a_full_fifo_holds_a_packet_for_its_length(runs: Runs, limit: int) -> None:
    packets = _departures(_long_flow(runs, "10mbit", limit))
    assert packets["length_pkts"].max() == limit
    largest = float(packets.select((pl.col("dequeue_ns") - pl.col("enqueue_ns")).max()).item())
    assert (limit - 1) * packet_ns(10**7) <= largest <= limit * packet_ns(10**7)


PATHS = {
    "slow": ("10mbit", "10ms", "1gbit"),
    "slower": ("1mbit", "25ms", "100mbit"),
    "fast": ("1gbit", "1ms", "10gbit"),
    "short": ("100mbit", "0s", "100mbit"),
}
"""Rate and delay of the bottleneck, and the rate of the link before it."""
DELAYS_NS = {"slow": 10_000_000, "slower": 25_000_000, "fast": 1_000_000, "short": 0}
HOP_RATES = {"slow": (10**7, 10**9), "slower": (10**6, 10**8), "fast": (10**9, 10**10), "short": (10**8, 10**8)}


@pytest.mark.parametrize("size", [56, 1472])
@pytest.mark.parametrize("path", PATHS)
def test_a_lone_packet_takes_propagation_and_serialisation_and_no_more(runs: Runs, path: str, size: int) -> None:
    rate, delay, access = PATHS[path]
    run = runs(dumbbell(rate=rate, delay=delay, access=access, flows=f"{PING}size = {size}", duration="5s"))
    times = run.scan("pings").collect()["rtt_ns"].to_list()
    frame_bytes = 14 + 20 + 8 + size
    one_way_ns = DELAYS_NS[path] + sum(packet_ns(rate, frame_bytes) for rate in HOP_RATES[path])
    assert len(times) >= 49
    assert [rtt_ns for rtt_ns in times if rtt_ns is None or abs(rtt_ns - 2 * one_way_ns) > 1000] == []


CLAMPS = {"small": 81920, "middling": 204800, "large": 409600}
"""Receive buffers in bytes; the announced window is a part of the buffer."""


@pytest.mark.parametrize("clamp", CLAMPS)
def test_a_clamped_window_decides_the_round_trip(runs: Runs, clamp: str) -> None:
    """Little's law: the link is full, so a window of W packets takes W packet times to come round.

    The receiver is the limit, not the network, as the scenario asks for.
    """
    run = runs(_clamped(CLAMPS[clamp]))
    acks = run.scan("acks").filter(pl.col("time_ns") >= 15 * 10**9).collect()
    (window_pkts,) = set(acks["snd_wnd_bytes"] // acks["mss_bytes"])
    # An ACK covers two packets, and a sample is from the newest of them: from the second, which completes the window,
    # or from the first if they are acknowledged separately. Kernels differ in how often that happens.
    packet_us = packet_ns(10**7) / 1000
    assert acks["rtt_us"].max() == pytest.approx(window_pkts * packet_us, rel=0.005)
    assert set((acks["rtt_us"].drop_nulls() / packet_us).round().to_list()) <= {window_pkts - 1, window_pkts}


def _clamped(buffer_bytes: int) -> str:
    sysctl = f'{{ "net.ipv4.tcp_rmem" = "4096 {buffer_bytes} {buffer_bytes}" }}'
    tuner = f'[tuners.clamp]\nnodes = ["h2"]\nsysctl = {sysctl}\n[run]\ntuner = "clamp"\n'
    return dumbbell(duration="30s", queue="pfifo limit 1000", tail=tuner)
