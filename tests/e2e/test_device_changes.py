"""Changes in time of links that are devices: the rate within a frame, the delay, and outages, to the nanosecond."""

from __future__ import annotations

import numpy as np
import pytest
from e2e_devices import DEVICE, MS, Frames, arrivals_of, frames_of, in_order_ns, last_bits_ns, wire
from e2e_runs import Runs
from e2e_traffic import FORWARD, flow, pair
from netwarp.store.codes import Fate

AT_NS = (1_000_333_001, 1_500_777_003)
"""Moments within frames."""
OVERLOAD = flow("cbr", "cbr", 'rate = "20mbit"', "packet_size = 700")


def change(at_ns: int, what: str) -> str:
    return f'[[changes]]\nat = "{at_ns}ns"\nlink = "wire"\n{what}\n'


@pytest.mark.parametrize("rates", [("3333333bit", "7mbit"), ("9mbit", "1mbit")])
def test_bits_that_have_not_left_leave_at_the_new_rate(runs: Runs, rates: tuple[str, str]) -> None:
    """The next frame begins exactly when the last bit of the one before has left, across both changes."""
    tail = "".join(change(at, f'rate = "{rate}"') for at, rate in zip(AT_NS, rates, strict=True))
    run = runs(pair(OVERLOAD, link=DEVICE, queue="pfifo limit 20", tail=tail))
    # All packets, with those that the kernel sends by itself.
    frames = run.scan("packets").filter(interface_index=FORWARD, fate=Fate.SENT).collect().sort("dequeue_ns")
    left_ns, sizes = frames["dequeue_ns"].to_list(), frames["packet_bytes"].to_list()
    bits = [10**7, *(int(rate.replace("mbit", "000000").removesuffix("bit")) for rate in rates)]
    steps = list(zip((left_ns[0], *AT_NS), bits, strict=True))
    expected = last_bits_ns(left_ns[0], sizes, steps)
    assert len(expected) > 800
    assert left_ns[1:] == expected[:-1]


def test_delay_is_that_of_the_moment_at_which_a_frame_has_left(runs: Runs) -> None:
    """From 5 ms to 25 and back: frames stay in order; those behind the last long delay arrive one after another."""
    tail = "".join(change(at, f'delay = "{delay}"') for at, delay in zip(AT_NS, ("25ms", "5ms"), strict=True))
    sent = flow("cbr", "cbr", 'rate = "5mbit"', "packet_size = 700")
    run = runs(pair(sent, link=DEVICE, tail=tail))
    frames = frames_of(run, "cbr")
    ends_ns = frames.left_ns + frames.size_bytes * 800
    delays = np.select([ends_ns <= AT_NS[0], ends_ns <= AT_NS[1]], [5 * MS, 25 * MS], 5 * MS)
    expected = in_order_ns(ends_ns + delays, frames.size_bytes * 800)
    assert len(set(np.diff(expected))) > 2
    arrived = arrivals_of(run, "cbr")
    there = [index for index, number in enumerate(frames.sequence) if int(number) in arrived]
    assert len(there) > 1600
    assert [arrived[int(frames.sequence[index])][0] for index in there] == expected[there].tolist()


@pytest.mark.parametrize("rate", ["4mbit", "20mbit"])
def test_an_outage_takes_each_frame_of_which_a_part_is_on_its_way_out(runs: Runs, rate: str) -> None:
    """Frames that have left before arrive."""
    at_ns, lasts_ns = AT_NS[0], 100 * MS
    sent = flow("cbr", "cbr", f'rate = "{rate}"', "packet_size = 700")
    run = runs(pair(sent, link=DEVICE, queue="pfifo limit 20", tail=change(at_ns, f'outage = "{lasts_ns}ns"')))
    frames = frames_of(run, "cbr")
    lost = lost_in(frames, at_ns, at_ns + lasts_ns)
    arrived = np.isin(frames.sequence, list(arrivals_of(run, "cbr")))
    known = frames.known(run)
    assert np.array_equal(arrived[:known], ~lost[:known])
    assert wire(run)["lost_pkts"] == lost.sum() > 60


def lost_in(frames: Frames, from_ns: int, to_ns: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """The frames of which a part leaves within a time, at 10 Mbit/s."""
    ends_ns = frames.left_ns + frames.size_bytes * 800
    return (frames.left_ns < to_ns) & (ends_ns > from_ns)


def test_a_queue_that_changes_is_still_the_root(runs: Runs) -> None:
    tail = change(AT_NS[0], 'queue = "fq_codel limit 50"') + change(AT_NS[1], 'queue = "fq_codel limit 30"')
    run = runs(pair(OVERLOAD, link=DEVICE, queue="pfifo limit 20", tail=tail))
    queues = run.scan("queues").filter(interface_index=11).collect()
    assert set(queues["parent"].unique()) == {0xFFFFFFFF}
    assert set(queues["kind"].unique()) == {"pfifo", "fq_codel"}
