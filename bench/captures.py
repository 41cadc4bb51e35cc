"""Large captures, and the time that `netwarp pcap` and tshark take to read them on one CPU."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench import scenarios
from bench.command import NETWARP, timed
from bench.row import Row, measure

HEADER_BYTES, FRAME_HEADER_BYTES = 24, 16
LAST_OCTETS = (29, 33)
"""Offsets of the last octets of both IPv4 addresses, from a frame's beginning."""

FIELDS = [
    "frame.time_epoch",
    "frame.len",
    "ip.src",
    "tcp.srcport",
    "ip.dst",
    "tcp.dstport",
    "tcp.stream",
    "tcp.len",
    "tcp.analysis.ack_rtt",
    "tcp.analysis.bytes_in_flight",
    "tcp.analysis.retransmission",
    "tcp.analysis.fast_retransmission",
    "tcp.analysis.spurious_retransmission",
    "tcp.analysis.out_of_order",
    "tcp.analysis.duplicate_ack",
    "tcp.analysis.lost_segment",
    "tcp.analysis.zero_window",
]
"""tshark's fields from which the columns of `netwarp pcap` can be computed."""


@dataclass(frozen=True)
class Capture:
    """A capture file and its content."""

    path: Path
    packets: int

    @property
    def size(self) -> int:
        """The file's length in bytes."""
        return self.path.stat().st_size


def repeated(capture: Path, times: int, out: Path) -> Capture:
    """Make a capture that repeats another one: each time a minute later, and between other addresses."""
    data = capture.read_bytes()
    offsets, at = [], HEADER_BYTES
    while at < len(data):
        offsets.append(at)
        at += FRAME_HEADER_BYTES + int.from_bytes(data[at + 8 : at + 12], "little")
    body = np.frombuffer(data, np.uint8, offset=HEADER_BYTES).copy()
    places = np.asarray(offsets) - HEADER_BYTES
    seconds = sum(body[places + i].astype(np.uint32) << (8 * i) for i in range(4))
    hosts = [(places + FRAME_HEADER_BYTES + octet, body[places + FRAME_HEADER_BYTES + octet]) for octet in LAST_OCTETS]
    with out.open("wb") as file:
        file.write(data[:HEADER_BYTES])
        for number in range(times):
            later = seconds + np.uint32(60 * number)
            for i in range(4):
                body[places + i] = (later >> (8 * i)) & 0xFF
            for place, octet in hosts:
                body[place] = octet + 10 * number
            file.write(body.tobytes())
    return Capture(out, len(offsets) * times)


def netwarp_seconds(capture: Capture) -> float:
    """Time the whole command, its table included, on one CPU."""
    return _seconds([str(NETWARP), "pcap", "--csv", str(capture.path)])


def tshark_seconds(capture: Capture) -> float:
    """Time tshark's output of the same fields, packet by packet, on one CPU."""
    fields = [word for field in FIELDS for word in ("-e", field)]
    return _seconds(["tshark", "-n", "-r", str(capture.path), "-T", "fields", *fields])


def _seconds(command: list[str]) -> float:
    cpu = min(os.sched_getaffinity(0))
    begin = time.perf_counter()
    done = subprocess.run(
        ["taskset", "-c", str(cpu), *command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False
    )
    seconds = time.perf_counter() - begin
    if done.returncode != 0:
        raise RuntimeError(done.stderr.decode(errors="replace").strip())
    return seconds


@measure
def pcap(place: Path) -> Iterator[Row]:
    """Compare the time of reading captures with tshark's."""
    run = timed(scenarios.captured(), place / "run", "--no-plots").runs[0]
    whole, snapped = (run.path / "captures" / name for name in ("bottleneck-r1.pcap", "bottleneck-h2.pcap"))
    full = repeated(whole, 3, place / "full.pcap")
    size_gb = full.size / 1e9
    name = f"netwarp pcap: {size_gb:.2f} GB of full-size capture"
    yield Row(name, size_gb / netwarp_seconds(full), 1, "GB/s", more_is_better=True)
    full.path.unlink()
    short = repeated(snapped, 12, place / "short.pcap")
    ours = short.packets / netwarp_seconds(short) / 1e6
    name = f"netwarp pcap: {short.packets / 1e6:.1f} million packets of 96 bytes"
    yield Row(name, ours, 5, "M packets/s", more_is_better=True)
    short.path.unlink()
    once = repeated(snapped, 1, place / "once.pcap")
    theirs = once.packets / tshark_seconds(once) / 1e6
    yield Row("tshark, the same fields", theirs, None, "M packets/s")
    yield Row("  netwarp pcap is faster", ours / theirs, 50, "times", more_is_better=True)
