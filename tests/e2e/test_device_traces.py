"""Devices that follow Mahimahi's traces: every departure and drop is mm-link's, as below the discipline."""

from __future__ import annotations

from pathlib import Path

import pytest
from e2e_devices import arrivals_of, frames_of, wire
from e2e_runs import Runs
from e2e_traffic import flow, values
from test_mahimahi import BACK, DELAY_NS, FORWARD, LIMITS, MS, PACKET_SIZE, TRACES, LinkQueue, packets_at, scenario


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("traces")


def device(folder: Path, name: str, **given: str) -> str:
    return scenario(folder, name, **given).replace("[links.radio]", '[links.radio]\nwire = "device"')


@pytest.mark.parametrize("interface", [FORWARD, BACK])
@pytest.mark.parametrize("name", TRACES)
def test_every_drop_and_every_arrival_is_mm_links(runs: Runs, folder: Path, name: str, interface: int) -> None:
    """A packet is out of the queue once its first bytes have passed, and arrives one delay after its last have.

    Only of packets that come at the very instant of an opportunity it is open whether they come before it or after.
    """
    run = runs(device(folder, name))
    packets = packets_at(run, interface)
    link = LinkQueue(TRACES[name][interface], LIMITS[interface])
    for number, (arrival_ns, size) in enumerate(packets.select("enqueue_ns", "packet_bytes").iter_rows()):
        link.read_packet(number, arrival_ns, size)
    link.rationalize(5000)
    others = set(packets.with_row_index().filter(fate=1)["index"]) ^ link.dropped
    assert len(others) <= 1
    assert all(packets["enqueue_ns"][number] % MS == 0 for number in others)
    left = packets.with_row_index().drop_nulls("dequeue_ns")
    assert all(
        at <= link.departures_ms.get(number, 6000) * MS for number, at in left.select("index", "dequeue_ns").iter_rows()
    )
    departed = [at * MS for at in link.departures_ms.values()]
    multicasts = wire(run, interface)["sent_pkts"] - left.height  # before the run
    arrived = sum(at + DELAY_NS <= 5000 * MS for at in departed)
    assert abs(wire(run, interface)["delivered_pkts"] - multicasts - arrived) <= len(others)


def test_a_full_link_uses_every_opportunity(runs: Runs, folder: Path) -> None:
    """One opportunity a millisecond, and datagrams of 1500 bytes of IP, which count as its 1504 bytes."""
    full = flow("full", "cbr", 'rate = "20mbit"') + '[run]\nstart_jitter = "0s"\n'
    run = runs(device(folder, "even", flows=full))
    left = packets_at(run, FORWARD).drop_nulls("dequeue_ns")["dequeue_ns"].to_list()
    assert left[:4999] == [at * MS for at in range(1, 5000)]
    frames, arrived = frames_of(run, "full", FORWARD), arrivals_of(run, "full")
    there = [index for index, number in enumerate(frames.sequence) if int(number) in arrived]
    assert [arrived[int(frames.sequence[index])][0] for index in there] == (frames.left_ns[there] + DELAY_NS).tolist()
    assert values(run, "radio:r1", "link")["utilisation"] == pytest.approx(len(left) / 5000, rel=1e-9)


def test_the_segments_of_aggregates_use_opportunities(runs: Runs, folder: Path) -> None:
    text = device(folder, "bursts", flows=flow("bulk", "bulk")).replace("delay =", "offload = true\ndelay =")
    run = runs(text)  # its status is ok, so packets are conserved
    sent = packets_at(run, FORWARD).filter(fate=0)
    used = sent["packet_bytes"].to_numpy().sum() - 10 * sent["segments"].to_numpy().sum()
    assert used <= 50 * 100 * PACKET_SIZE


@pytest.mark.parametrize("queue", ["fq_codel", "red limit 90000 avpkt 1514"])
def test_any_queue_is_its_root(runs: Runs, folder: Path, queue: str) -> None:
    run = runs(device(folder, "radio").replace(f"pfifo limit {LIMITS[FORWARD]}", queue))
    queues = run.scan("queues").filter(interface_index=FORWARD).collect()
    assert queues["requeues"].max() == 0
