"""Random properties of links that are devices, each computed from the seed and compared packet by packet."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from e2e_devices import DEVICE, MS, arrivals_of, draws, frames_of, happens, in_order_ns, seed_of, wire
from e2e_runs import Runs
from e2e_traffic import FORWARD, flow, pair
from netwarp.store.codes import Place
from netwarp.store.rundir import RunDir
from numpy.typing import NDArray

SENT = flow("cbr", "cbr", 'rate = "8mbit"', "packet_size = 300")
Lost = NDArray[np.bool_]


def lossy(link: str, duration: str = "4s", family: str = "") -> str:
    return pair(SENT + family, link=f"{DEVICE}\n{link}", duration=duration)


def lost_by_chain(run: RunDir, moves: list[list[float]], loses: list[float]) -> Lost:
    """The losses of a Markov chain that moves before each packet; `moves` are its probabilities, row by row."""
    frames = frames_of(run, "cbr")
    seed = seed_of(run)
    below = np.round(np.cumsum(moves, axis=1) * 2**32)
    moved, lost = (draws(seed, stream, frames.numbers) for stream in ("state", "loss"))
    state, found = 0, []
    for move, loss in zip(moved, lost, strict=True):
        state = int(np.searchsorted(below[state][:-1], move, side="right"))
        found.append(loss < round(loses[state] * 2**32))
    return np.array(found)


def assert_lost(run: RunDir, lost: Lost) -> None:
    """Exactly these frames did not arrive; wire, interface and recorder counted them."""
    frames = frames_of(run, "cbr")
    arrived = np.isin(frames.sequence, list(arrivals_of(run, "cbr")))
    known = frames.known(run)
    assert np.array_equal(arrived[:known], ~lost[:known])
    drops = run.scan("drops").filter(interface_index=FORWARD, place=Place.SENT).collect()
    assert set(drops["function"].to_list()) == {"wire_lose"}
    # The frame that was leaving at the end is not lost yet.
    assert 0 <= lost.sum() - wire(run)["lost_pkts"] <= 1
    assert wire(run)["lost_pkts"] == drops.height


def test_independent_losses(runs: Runs) -> None:
    run = runs(lossy('loss = { forward = "2%" }'))
    lost = lost_by_chain(run, [[1.0, 0, 0, 0]], [0.02])
    assert_lost(run, lost)
    assert abs(lost.mean() - 0.02) < 4 * np.sqrt(0.02 * 0.98 / len(lost))


def test_losses_of_two_states(runs: Runs) -> None:
    """The share of losses is that of time in the bad state, p / (p + r); the mean length of bursts is 1 / r."""
    run = runs(lossy('loss = { forward = "gemodel 1% 20%" }'))
    lost = lost_by_chain(run, [[0.99, 0.01, 0, 0], [0.2, 0.8, 0, 0]], [0.0, 1.0])
    assert_lost(run, lost)
    bursts = np.sum(lost[1:] & ~lost[:-1])
    assert 0.6 < lost.mean() / (0.01 / 0.21) < 1.5
    assert 3.5 < lost.sum() / bursts < 7


def test_losses_of_four_states(runs: Runs) -> None:
    run = runs(lossy('loss = { forward = "state 1% 30% 10% 40% 0.5%" }'))
    moves = [[0.985, 0, 0.01, 0.005], [0, 0.6, 0.4, 0], [0.3, 0.1, 0.6, 0], [1.0, 0, 0, 0]]
    assert_lost(run, lost_by_chain(run, moves, [0, 0, 1.0, 1.0]))


def test_no_property_moves_the_draws_of_another(runs: Runs) -> None:
    """The losses are those of the seed alone, with every other property beside them."""
    others = 'jitter = "1ms"\nduplicate = "5%"\nreorder = "3%"\nloss = { forward = "2%" }'
    run = runs(lossy(others))
    lost = lost_by_chain(run, [[1.0, 0, 0, 0]], [0.02])
    assert_lost(run, lost)
    frames = frames_of(run, "cbr")
    known = frames.known(run)
    copied = (happens(seed_of(run), "copy", frames.numbers, 0.05) & ~lost)[:known]
    twice = [number for number, times in arrivals_of(run, "cbr").items() if len(times) == 2]
    assert set(frames.sequence[:known][copied]) == set(twice) & set(frames.sequence[:known])


def test_copies_arrive_at_the_same_instant_and_sums_hold(runs: Runs) -> None:
    run = runs(lossy('duplicate = { forward = "5%" }'))
    frames = frames_of(run, "cbr")
    copied = happens(seed_of(run), "copy", frames.numbers, 0.05)
    arrived = arrivals_of(run, "cbr")
    there = frames.left_ns + frames.size_bytes * 800 + 5 * MS <= run.description.duration_ns
    twice = [number for number, times in arrived.items() if len(times) == 2]
    assert set(twice) == set(frames.sequence[copied & there].tolist())
    assert all(len(set(arrived[number])) == 1 for number in twice)
    others = wire(run)["sent_pkts"] - len(frames.sequence)  # multicasts before the run
    assert wire(run)["delivered_pkts"] - others == there.sum() + (copied & there).sum()


@pytest.mark.parametrize("shape", ["uniform", "normal"])
def test_jitter_is_exact_and_keeps_the_order(runs: Runs, shape: str) -> None:
    """Each frame's delay is computed; none arrives before the one in front of it."""
    words = "" if shape == "uniform" else f" {shape}"
    run = runs(lossy(f'jitter = {{ forward = "500us{words}" }}'))
    frames = frames_of(run, "cbr")
    drawn = draws(seed_of(run), "jitter", frames.numbers).astype(object)
    jitter_ns = 500_000
    if shape == "uniform":
        off = [(2 * jitter_ns + 1) * int(number) // 2**32 - jitter_ns for number in drawn]
    else:
        table = distribution(shape)
        off = [int(table[len(table) * int(number) // 2**32] * jitter_ns / 8192) for number in drawn]
    ends_ns = frames.left_ns + frames.size_bytes * 800
    expected = in_order_ns(ends_ns + 5 * MS + np.array(off), frames.size_bytes * 800)
    arrived = arrivals_of(run, "cbr")
    there = [index for index, number in enumerate(frames.sequence) if int(number) in arrived]
    assert [arrived[int(frames.sequence[index])][0] for index in there] == expected[there].tolist()
    assert abs(np.mean(off)) < 30_000
    assert np.std(off) == pytest.approx(jitter_ns / np.sqrt(3) if shape == "uniform" else jitter_ns, rel=0.05)


def distribution(name: str) -> list[int]:
    """iproute2's table."""
    path = next(Path("/usr/lib").glob(f"**/tc/{name}.dist"))
    lines = (line for line in path.read_text().splitlines() if not line.startswith("#"))
    return [int(word) for line in lines for word in line.split()]


def test_frames_that_skip_the_delay_overtake_the_others(runs: Runs) -> None:
    run = runs(lossy('reorder = { forward = "3%" }'))
    frames = frames_of(run, "cbr")
    skips = happens(seed_of(run), "skip", frames.numbers, 0.03)
    ends_ns = frames.left_ns + frames.size_bytes * 800
    expected = ends_ns + np.where(skips, 0, 5 * MS)
    arrived = arrivals_of(run, "cbr")
    there = [index for index, number in enumerate(frames.sequence) if int(number) in arrived]
    assert [arrived[int(frames.sequence[index])][0] for index in there] == expected[there].tolist()
    assert skips.sum() > 300


def test_a_changed_bit_is_found_by_a_checksum(runs: Runs) -> None:
    """The frames in which a bit of the datagram changes do not arrive, unless the bit is in the Ethernet header."""
    run = runs(lossy('corrupt = { forward = "2%" }'))
    frames = frames_of(run, "cbr")
    seed = seed_of(run)
    flipped = happens(seed, "flip", frames.numbers, 0.02)
    bits = draws(seed, "bit", frames.numbers).astype(object) * (frames.size_bytes.astype(object) * 8) // 2**32
    arrived = np.isin(frames.sequence, list(arrivals_of(run, "cbr")))
    known = np.arange(len(flipped)) < frames.known(run)
    in_packet = flipped & (bits >= 14 * 8)
    assert in_packet.sum() > 200
    assert not arrived[in_packet & known].any()
    assert arrived[~flipped & known].all()
    assert wire(run)["lost_pkts"] == 0


def test_marks_in_place_of_losses(runs: Runs) -> None:
    """A packet of a sender with ECN is marked where another's would be lost."""
    sysctl = 'h1 = { sysctl = { "net.ipv4.tcp_ecn" = 1 } }\nh2 = { sysctl = { "net.ipv4.tcp_ecn" = 1 } }'
    bulk = flow("bulk", "bulk")
    run = runs(pair(bulk, link=f'{DEVICE}\nloss = {{ forward = "1% ecn" }}', nodes=sysctl, duration="5s"))
    sent = run.scan("packets").filter(interface_index=FORWARD, fate=0).collect().sort("dequeue_ns")
    chosen = happens(seed_of(run), "loss", np.arange(1, sent.height + 1), 0.01)
    can_mark = sent["ecn_out"].to_numpy() == 2
    assert (chosen & can_mark).sum() > 10
    assert abs(wire(run)["lost_pkts"] - (chosen & ~can_mark).sum()) <= 1
