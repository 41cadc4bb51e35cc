"""Devices that take aggregates, and those with a ring of several frames, whose byte queue limits hold."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from e2e_devices import DEVICE, MS, arrivals_of, frames_of, last_bits_ns, wire
from e2e_runs import Runs
from e2e_traffic import FORWARD, flow, pair, values
from netwarp.store.codes import Fate

FRAME_NS = 1514 * 40
"""At 200 Mbit/s."""


def test_an_aggregate_is_serialised_as_its_segments(runs: Runs) -> None:
    """Each segment of TCP arrives by itself, one serialisation after the one before it."""
    link = f"{DEVICE}\noffload = true"
    run = runs(pair(flow("bulk", "bulk"), link=link, rate="200mbit", duration="1s"))
    packets = run.scan("packets").filter(interface_index=FORWARD, fate=Fate.SENT).collect()
    assert packets["segments"].to_numpy().max() > 5
    arrived = run.scan("arrivals").collect().sort("time_ns")
    assert arrived["new_bytes"].to_numpy().max() == 1448
    gaps = np.diff(arrived.filter(new_bytes=1448)["time_ns"].to_numpy())
    assert gaps.min() == FRAME_NS
    assert (gaps == FRAME_NS).sum() > 0.9 * len(gaps)
    multicasts = wire(run)["sent_pkts"] - int(packets["segments"].sum())
    assert 0 <= multicasts <= 2, "before the run"
    assert 0 <= wire(run)["sent_bytes"] - int(packets["packet_bytes"].sum()) <= 90 * multicasts
    assert values(run, "bulk")["goodput_mbps"] == pytest.approx(200 * 1448 / 1514, rel=0.1)


def test_losses_by_plan_count_segments(runs: Runs) -> None:
    link = f'{DEVICE}\noffload = true\nloss = {{ forward = "packets 100, 200" }}'
    run = runs(pair(flow("bulk", "bulk"), link=link, duration="2s"))
    assert wire(run)["lost_pkts"] == 2
    assert values(run, "bulk")["retransmits"] == 2


@pytest.mark.parametrize("size", [1400, 300])
def test_byte_queue_limits_keep_a_ring_short(runs: Runs, size: int) -> None:
    """A ring of 256 frames would hold 300 ms; the limit needs to cover only what leaves between two completions."""
    sent = flow("cbr", "cbr", 'rate = "20mbit"', f"packet_size = {size}")
    run = runs(pair(sent, link=f"{DEVICE}\nring = 256", queue="pfifo limit 50"))
    frames = frames_of(run, "cbr")
    ends_ns = np.array(last_bits_ns(int(frames.left_ns[0]), frames.size_bytes.tolist(), [(0, 10**7)]))
    held = np.arange(1, len(ends_ns) + 1) - np.searchsorted(ends_ns, frames.left_ns, side="right")
    assert held.max() <= 256
    settled = held[len(held) // 2 :]
    assert settled.max() <= 4
    assert settled.min() >= 1
    arrived = arrivals_of(run, "cbr")
    there = [index for index, number in enumerate(frames.sequence) if int(number) in arrived]
    assert [arrived[int(frames.sequence[index])][0] for index in there] == (ends_ns[there] + 5 * MS).tolist()


def test_small_queues_of_tcp_end_at_the_last_bit(runs: Runs) -> None:
    """A sender at its bottleneck keeps two packets, or a millisecond's worth, in queue and device together."""
    run = runs(pair(flow("bulk", "bulk"), link=f"{DEVICE}\nring = 256", duration="3s"))
    packets = run.scan("packets").filter(pl.col("packet_bytes") > 100, interface_index=FORWARD).collect()
    later = packets.filter(pl.col("enqueue_ns") > 10**9)
    ends_ns = np.array(last_bits_ns(int(later["dequeue_ns"][0]), later["packet_bytes"].to_list(), [(0, 10**7)]))
    held = np.arange(1, later.height + 1) - np.searchsorted(ends_ns, later["enqueue_ns"].to_numpy(), side="right")
    assert held.max() <= 3
