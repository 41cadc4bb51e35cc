"""Aggregates count as the packets that they are on the wire: in queues, drops, marks, bytes and lengths."""

from __future__ import annotations

import polars as pl
import pytest
from e2e_runs import Runs
from e2e_scenarios import FRAME_BYTES, SEGMENT_BYTES
from e2e_traffic import FORWARD, flow, pair, python_command, values
from netwarp.store.rundir import RunDir

BURSTS, PAYLOAD, SEGMENT, SEGMENTS = 100, 12_500, 1200, 11
HEADERS = 14 + 20 + 8
UDP_SEGMENT = f"""
import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(17, 103, {SEGMENT})  # SOL_UDP, UDP_SEGMENT
time.sleep(0.5)
for _ in range({BURSTS}):
    s.sendto(bytes({PAYLOAD}), ("{{destination}}", 9))
    time.sleep(0.015)
"""
SINK = "import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\ns.bind(('', 9))\nwhile True: s.recv(2000)"
QUEUES = ["pfifo limit 1000", "fq_codel", "tbf rate 9mbit burst 2kb latency 1s", "cake bandwidth 9mbit"]
BURST_BYTES = PAYLOAD + SEGMENTS * HEADERS


def bursts(queue: str, link: str = "") -> str:
    """Datagrams that the kernel cuts into segments, as QUIC stacks send, into a queue of 10 Mbit/s."""
    lines = (f"client = {python_command(UDP_SEGMENT)}", f"server = {python_command(SINK)}")
    return pair(flow("gso", "command", *lines), queue=queue, link=link, duration="3s")


def data(run: RunDir) -> pl.DataFrame:
    """The rows of large packets at the sender's queue."""
    return run.scan("packets").filter(pl.col("interface_index") == FORWARD, pl.col("packet_bytes") > 200).collect()


@pytest.mark.parametrize("link", ["", "offload = true"])
@pytest.mark.parametrize("queue", QUEUES)
def test_bursts_of_udp_segments_are_counted_as_on_the_wire(runs: Runs, queue: str, link: str) -> None:
    run = runs(bursts(queue, link))
    rows = data(run)
    assert rows["segments"].sum() == BURSTS * SEGMENTS
    assert rows["packet_bytes"].sum() == BURSTS * BURST_BYTES
    # CAKE's law is of delay: it drops single packets of bursts that wait for longer than 5 ms.
    dropped = rows.filter(fate=1)
    assert set(rows["fate"]) == ({0, 1} if queue.startswith("cake") else {0})
    # tbf and cake cut a burst into its packets, the others keep it whole.
    assert set(rows["segments"]) == ({1} if queue.startswith(("tbf", "cake")) else {SEGMENTS})
    assert rows["length_pkts"].max() == SEGMENTS, "the link has room for a burst before the next"
    assert rows.sort("dequeue_ns")["length_after_pkts"][-1] == 0
    counts = run.scan("interfaces").collect().sort("interface_index")
    sent, came = counts.row(0, named=True), counts.row(1, named=True)
    assert sent["sent_bytes"] == came["arrived_bytes"] == BURSTS * BURST_BYTES - dropped["packet_bytes"].sum()
    assert came["delivered_pkts"] == BURSTS * SEGMENTS - dropped.height
    assert values(run, "wire:h1", "queue")["drops"] == dropped.height


def test_a_dropped_burst_is_all_of_its_segments(runs: Runs) -> None:
    """Bursts of ten times the link's rate into a queue of two places, which are two bursts: the rest is dropped."""
    run = runs(bursts("pfifo limit 2").replace("0.015", "0.0015"))
    rows = data(run)
    dropped = rows.filter(fate=1)
    assert dropped.height > 20 and set(dropped["segments"]) == {SEGMENTS}
    queue = values(run, "wire:h1", "queue")
    assert queue["drops"] == SEGMENTS * dropped.height
    assert queue["length_pkts_max"] == 2 * SEGMENTS
    assert queue["drop_pct"] == pytest.approx(100 * dropped.height / BURSTS)


@pytest.mark.parametrize("exact", ["true", "false"])
@pytest.mark.parametrize("offload", ["true", "false"])
def test_a_full_link_is_used_wholly_with_offloads(runs: Runs, offload: str, exact: str) -> None:
    text = pair(
        flow("bulk", "bulk"),
        rate="1gbit",
        queue="pfifo limit 2000",
        link=f"offload = {offload}",
        duration="3s",
        tail=f"[record]\nexact = {exact}\n",
    ).replace('duration = "3s"\n', 'duration = "3s"\nwarmup = "1s"\n', 1)
    run = runs(text)
    assert values(run, "wire:h1", "link")["utilisation"] == pytest.approx(1, abs=0.002)
    assert values(run, "bulk")["goodput_mbps"] == pytest.approx(1000 * SEGMENT_BYTES / FRAME_BYTES, rel=0.01)
    if exact == "true":
        largest = data(run).filter(pl.col("segments") > 10).height
        assert (largest > 0) == (offload == "true")


def test_marks_of_aggregates_are_what_the_sender_hears_of(runs: Runs) -> None:
    """DCTCP's receiver echoes each mark (RFC 8257), so the sender's count of marked packets equals the queue's."""
    nodes = 'h1 = { sysctl = { "net.ipv4.tcp_ecn" = 1 } }\nh2 = { sysctl = { "net.ipv4.tcp_ecn" = 1 } }'
    text = pair(
        flow("bulk", "bulk", 'cc = "dctcp"'),
        rate="50mbit",
        queue="codel limit 1000 ce_threshold 1ms",
        nodes=nodes,
        link="offload = true",
        duration="5s",
        router=True,
    ).replace('rate = "1gbit"', 'rate = "1gbit"\noffload = true')
    run = runs(text)
    marked = int(values(run, "wire:r1", "queue")["marks"])
    told = run.scan("acks").select(pl.col("delivered_ce_pkts").max()).collect().item()
    largest = run.scan("packets").select(pl.col("segments").max()).collect().item()
    assert largest > 1 and marked > 100
    assert abs(marked - told) <= 0.05 * marked + largest
