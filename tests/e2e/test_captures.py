"""Captures: pcap files in the run's clock with every packet, as another program reads them."""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest
from e2e_runs import Runs
from e2e_traffic import FORWARD, flow, packets_of, pair
from netwarp.analysis.tuples import flow_of_tuples
from netwarp.store.rundir import RunDir

pytestmark = pytest.mark.skipif(shutil.which("tcpdump") is None, reason="tcpdump is not installed")

CAPTURES = """
[record]
captures = [
  { at = "wire:h1", snap = 96 },
  { at = "wire:h2", filter = "udp and dst port 5001" },
]
"""
TEXT = pair(
    flow("cbr", "cbr", 'rate = "6mbit"') + flow("bulk", "bulk") + flow("ping", "ping"),
    queue="pfifo limit 20",
    tail=CAPTURES,
)


def _read(path: Path, *arguments: str) -> list[str]:
    command = ["tcpdump", "-r", str(path), "-nn", "-tt", "--nano", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def _times_ns(lines: list[str]) -> list[int]:
    stamps = (line.split(maxsplit=1)[0].split(".") for line in lines)
    return [int(seconds) * 10**9 + int(ns) for seconds, ns in stamps]


def _records(path: Path) -> list[tuple[int, int, int]]:
    """(time in ns, captured bytes, bytes on the wire) of each record."""
    return [(time, len(frame), length) for time, frame, length in _frames(path)]


def _frames(path: Path) -> list[tuple[int, bytes, int]]:
    """(time in ns, what was captured of the frame, its bytes on the wire) of each record."""
    data = path.read_bytes()
    assert struct.unpack_from("<I", data)[0] == 0xA1B23C4D, "nanoseconds"
    found, at = [], 24
    while at < len(data):
        seconds, ns, captured, length = struct.unpack_from("<4I", data, at)
        at += 16
        found.append((seconds * 10**9 + ns, data[at : at + captured], length))
        at += captured
    return found


@pytest.fixture
def run(runs: Runs) -> RunDir:
    """A run with captures at both ends of a link."""
    return runs(TEXT)


def test_every_packet_that_left_the_queue_is_there_at_its_time(run: RunDir) -> None:
    lines = _read(run.path / "captures" / "wire-h1.pcap", "src", "10.0.0.1")
    sent = run.scan("packets").filter(interface_index=FORWARD, fate=0).collect().sort("dequeue_ns")
    assert len(lines) == sent.height
    assert _times_ns(lines) == sent["dequeue_ns"].to_list()


def test_what_arrived_is_there_as_well(run: RunDir) -> None:
    records = _records(run.path / "captures" / "wire-h1.pcap")
    wires = {row["interface_index"]: row for row in run.scan("wires").collect().iter_rows(named=True)}
    left = run.scan("packets").filter(interface_index=FORWARD, fate=0).collect().height
    before = wires[FORWARD]["sent_pkts"] - left
    assert len(records) == left + wires[FORWARD + 1]["delivered_pkts"] - before
    assert (np.diff([time for time, _, _ in records]) >= 0).all()


def test_snap_cuts_and_the_length_remains(run: RunDir) -> None:
    records = _records(run.path / "captures" / "wire-h1.pcap")
    assert max(captured for _, captured, _ in records) == 96
    assert max(length for _, _, length in records) == 1514
    assert all(captured == min(length, 96) for _, captured, length in records)


def test_a_filter_lets_through_what_it_says(run: RunDir) -> None:
    lines = _read(run.path / "captures" / "wire-h2.pcap")
    arrived = run.scan("datagrams").collect()
    assert lines
    assert all(".5001: UDP, length 1472" in line for line in lines)
    assert _times_ns(lines) == arrived["received_ns"].to_list()
    assert packets_of(run, "cbr").filter(fate=0).height >= len(lines)


def test_captures_without_exact_records(runs: Runs) -> None:
    found = runs(TEXT.replace("[record]", "[record]\nexact = false"))
    assert _records(found.path / "captures" / "wire-h2.pcap") == _records(
        runs(TEXT).path / "captures" / "wire-h2.pcap"
    ), "what is recorded does not change what happens"


def test_the_data_of_bulk_flows_are_zeros(runs: Runs) -> None:
    """Flows that share them (patch 0064), beside one whose data are another program's."""
    text = pair(
        flow("one", "bulk") + flow("other", "bulk") + flow("iperf", "iperf3"),
        tail='[record]\ncaptures = [{ at = "wire:h1", snap = 2000, filter = "src host 10.0.0.1 and tcp" }]\n',
    )
    run = runs(text)
    tuples = run.scan("tuples").collect()
    flows = flow_of_tuples(tuples, run.description.flows)
    ports = {port: flows.get(number) for number, port in tuples.select("tuple_id", "source_port").iter_rows()}
    data: dict[int | None, list[bytes]] = {}
    for _, frame, _ in _frames(run.path / "captures" / "wire-h1.pcap"):
        tcp = frame[14 + 4 * (frame[14] & 15) :]
        data.setdefault(ports[struct.unpack_from(">H", tcp)[0]], []).append(tcp[4 * (tcp[12] >> 4) :])
    one, other, iperf = (b"".join(data[item.id]) for item in run.description.flows)
    assert min(len(one), len(other), len(iperf)) > 100_000
    assert not any(one)
    assert not any(other)
    assert any(iperf)
