"""Captures that tests make, and the findings of tshark and netwarp in a capture, packet by packet."""

from __future__ import annotations

import csv
import io
import random
import struct
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from netwarp.common.agent import find_observer

MS = 10**6
T0 = 1_700_000_000_123_456_789
FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16
RAW, ETHERNET = 101, 1

FINDINGS = [
    "retransmission",
    "fast_retransmission",
    "spurious_retransmission",
    "out_of_order",
    "duplicate_ack",
    "lost_segment",
    "ack_lost_segment",
    "zero_window",
    "zero_window_probe",
    "zero_window_probe_ack",
    "window_full",
    "window_update",
    "keep_alive",
    "keep_alive_ack",
    "reused_ports",
]
"""Findings that both have for a packet: Wireshark's fields after `tcp.analysis.`."""


@dataclass(frozen=True)
class Seen:
    """The findings about one TCP segment."""

    stream: int
    ack_rtt_ns: int | None
    bytes_in_flight: int | None
    findings: frozenset[str]


def by_tshark(path: Path) -> dict[int, Seen]:
    """tshark's findings, by frame number."""
    fields = ["frame.number", "tcp.stream", "tcp.analysis.ack_rtt", "tcp.analysis.bytes_in_flight"]
    fields += [f"tcp.analysis.{name}" for name in FINDINGS]
    command = ["tshark", "-n", "-r", str(path), "-Y", "tcp", "-T", "fields", "-E", "separator=,", "-E", "occurrence=f"]
    for field in fields:
        command += ["-e", field]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = {}
    for line in done.stdout.splitlines():
        number, stream, rtt, flying, *flags = line.split(",")
        found[int(number)] = Seen(
            int(stream),
            round(float(rtt) * 1e9) if rtt else None,
            int(flying) if flying else None,
            frozenset(name for name, flag in zip(FINDINGS, flags, strict=True) if flag),
        )
    return found


def by_netwarp(path: Path) -> dict[int, Seen]:
    """The findings of `netwarp pcap --packets`, with every kind of retransmission counted as one, as by tshark."""
    command = [str(find_observer()), "pcap", "--packets", "--csv", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = {}
    for row in csv.DictReader(io.StringIO(done.stdout)):
        if row["protocol"] != "tcp":
            continue
        names = set(row["findings"].split())
        if names & {"fast_retransmission", "spurious_retransmission"}:
            names.add("retransmission")
        found[int(row["frame"])] = Seen(
            int(row["stream"]),
            round(float(row["ack_rtt_ms"]) * 1e6) if row["ack_rtt_ms"] else None,
            int(row["bytes_in_flight"]) if row["bytes_in_flight"] else None,
            frozenset(names & set(FINDINGS)),
        )
    return found


def agree(path: Path) -> dict[int, Seen]:
    """Require that tshark and netwarp have the same findings for every segment; return them."""
    theirs, ours = by_tshark(path), by_netwarp(path)
    assert theirs, f"tshark sees no TCP in {path}"
    different = [(number, theirs.get(number), ours.get(number)) for number in sorted(theirs | ours)]
    assert [one for one in different if one[1] != one[2]] == []
    return theirs


def write_pcap(
    path: Path,
    packets: Iterable[tuple[int, bytes]],
    *,
    link_type: int = RAW,
    nanoseconds: bool = True,
    order: str = "<",
    snap: int = 65535,
) -> Path:
    """A pcap file of (time in ns from T0, frame)."""
    magic, tick = (0xA1B23C4D, 1) if nanoseconds else (0xA1B2C3D4, 1000)
    with path.open("wb") as file:
        file.write(struct.pack(f"{order}IHHiIII", magic, 2, 4, 0, 0, snap, link_type))
        for time, frame in packets:
            seconds, rest = divmod(T0 + time, 10**9)
            kept = frame[:snap]
            file.write(struct.pack(f"{order}IIII", seconds, rest // tick, len(kept), len(frame)) + kept)
    return path


def block(order: str, kind: int, body: bytes) -> bytes:
    """A pcapng block."""
    body += b"\0" * (-len(body) % 4)
    return struct.pack(f"{order}II", kind, len(body) + 12) + body + struct.pack(f"{order}I", len(body) + 12)


def section(order: str) -> bytes:
    """A pcapng section header."""
    return block(order, 0x0A0D0D0A, struct.pack(f"{order}IHHq", 0x1A2B3C4D, 1, 0, -1))


def interface(order: str, link_type: int, resolution: int | None = None, offset_s: int = 0, snap: int = 0) -> bytes:
    """A pcapng interface description: `resolution` in the form of if_tsresol (absent: microseconds)."""
    options = b""
    if resolution is not None:
        options += struct.pack(f"{order}HHB3x", 9, 1, resolution)
    if offset_s:
        options += struct.pack(f"{order}HHq", 14, 8, offset_s)
    if options:
        options += struct.pack(f"{order}HH", 0, 0)
    return block(order, 1, struct.pack(f"{order}HHI", link_type, 0, snap) + options)


def enhanced(order: str, number: int, ticks: int, frame: bytes, length: int | None = None) -> bytes:
    """A pcapng enhanced packet of interface `number`."""
    head = struct.pack(f"{order}IIIII", number, ticks >> 32, ticks & 0xFFFFFFFF, len(frame), length or len(frame))
    return block(order, 6, head + frame)


def segment(
    way: int, seq: int, ack: int, flags: int, payload: int = 0, *, window: int = 500, options: bytes = b""
) -> bytes:
    """An IPv4 packet from 10.0.0.1:1111 to 10.0.0.2:2222, or back if `way` is 1."""
    options += b"\x01" * (-len(options) % 4)
    ports = (1111, 2222)
    words = ((20 + len(options)) // 4) << 4
    tcp = struct.pack(">HHIIBBHHH", ports[way], ports[1 - way], seq % 2**32, ack % 2**32, words, flags, window, 0, 0)
    tcp += options + b"x" * payload
    hosts = (b"\x0a\0\0\1", b"\x0a\0\0\2")
    return struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(tcp), 0, 0, 64, 6, 0, hosts[way], hosts[1 - way]) + tcp


def sack(*blocks: tuple[int, int]) -> bytes:
    """A SACK option."""
    return bytes([1, 1, 5, 2 + 8 * len(blocks)]) + b"".join(struct.pack(">II", a % 2**32, b % 2**32) for a, b in blocks)


def mss(shift: int | None = None) -> bytes:
    """The options of a SYN: an MSS of 1460 and the window's shift."""
    return b"\x02\x04\x05\xb4" + (b"" if shift is None else bytes([3, 3, shift]))


class Talk:
    """A random conversation: losses, repetitions, SACK, probes, resets, new connections, in any order."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.time = 0
        self.packets: list[tuple[int, bytes]] = []
        choose = self.random.choice
        self.mss = choose([100, 1448])
        self.sack = self.random.random() < 0.6
        self.syn_options = mss(choose([None, 0, 7]))
        self.window = [500, 500]
        self.begin()
        if self.random.random() < 0.8:
            self.handshake()
        for _ in range(400):
            self.act()

    def begin(self) -> None:
        """Choose other numbers, some of which wrap soon."""
        some = [0, 2**32 - 9001, 2**31 - 9000, self.random.randrange(2**32 - 10_000)]
        self.isn = [self.random.choice(some) + self.random.randrange(1000, 5000) for _ in range(2)]
        self.next, self.acked = self.isn[:], self.isn[:]
        self.first: list[int | None] = [None, None]

    def emit(self, way: int, seq: int, ack: int, flags: int, *, payload: int = 0, options: bytes = b"") -> None:
        """Send one segment now, except where tshark 4.0 is known to err (docs/pcap.md).

        It takes the number 0 for none, and takes numbers before the first one it saw for numbers far beyond it.
        """
        first = self.first[way] = seq if self.first[way] is None else self.first[way]
        if first is not None and seq < first:
            return
        window = 64000 if flags & SYN else 0 if flags & RST else self.window[way]
        end = seq + payload + bool(flags & (SYN | FIN))
        if end % 2**32:
            self.packets.append((self.time, segment(way, seq, ack, flags, payload, window=window, options=options)))

    def handshake(self) -> None:
        """A three-way handshake whose last part may be missing."""
        rtt = self.random.choice([MS // 10, 2 * MS, 50 * MS])
        self.emit(0, self.isn[0], 0, SYN, options=self.syn_options)
        self.time += rtt
        if self.random.random() < 0.9:
            self.emit(1, self.isn[1], self.isn[0] + 1, SYN | ACK, options=self.syn_options)
        self.next = [number + 1 for number in self.isn]
        self.acked = self.next[:]
        self.time += rtt // 3
        self.emit(0, self.next[0], self.next[1], ACK)

    def act(self) -> None:
        """Do something that may come next."""
        rnd = self.random
        self.time += rnd.choice([0, 1000, MS // 10, MS, 5 * MS, 30 * MS, rnd.randrange(400 * MS)])
        way = int(rnd.random() > 0.6)
        other = 1 - way
        if rnd.random() < 0.05:
            self.window[way] = rnd.choice([0, 500, 100, 65535])
        ack = rnd.choice([self.acked[other], self.next[other], rnd.randint(self.acked[other], self.next[other])])
        payload = rnd.choice([self.mss] * 3 + [1, self.mss // 2])
        seq, far = self.next[way], self.next[other]
        what = rnd.random()
        if what < 0.35:
            self.emit(way, seq, ack, ACK | PSH, payload=payload, options=self.blocks(ack, far))
            self.next[way] += payload
        elif what < 0.65:
            self.emit(way, seq, ack, ACK, options=self.blocks(ack, far))
        elif what < 0.80:
            seq = rnd.choice([self.acked[way], rnd.randint(self.acked[way], seq)])
            self.emit(way, seq, ack, ACK, payload=payload)
            self.next[way] = max(self.next[way], seq + payload)
        elif what < 0.84:
            self.next[way] += self.mss * rnd.randint(1, 3)  # lost before the capture
        elif what < 0.90:
            self.emit(way, seq - rnd.choice([0, 1, 1]), ack, ACK, payload=rnd.choice([0, 1]))  # keep-alives and probes
        elif what < 0.91:
            self.emit(way, seq, far + self.mss, ACK)
        elif what < 0.915:
            self.emit(way, seq, ack, ACK | FIN, payload=rnd.choice([0, self.mss]))
            self.next[way] += 1
        elif what < 0.92:
            self.emit(way, seq, ack, RST | ACK)
        elif what < 0.925:
            self.emit(1, self.isn[1], self.isn[0] + 1, SYN | ACK, options=self.syn_options)
        elif what < 0.93:
            self.begin()
            self.handshake()
        if ack > self.acked[other] and rnd.random() < 0.9:
            self.acked[other] = min(ack, self.next[other])

    def blocks(self, ack: int, far: int) -> bytes:
        """One to four SACK blocks beyond an acknowledgement, if there is room."""
        if not self.sack or far - ack <= 2 * self.mss or self.random.random() > 0.7:
            return b""
        room = (far - ack) // self.mss
        starts = [ack + self.random.randint(0, room) * self.mss for _ in range(self.random.randint(1, 4))]
        return sack(*((start, start + self.mss) for start in starts))
