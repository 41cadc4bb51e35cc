#!/usr/bin/env python3
"""A tuner of TCP's buffers that watches and sets as bpftune's tcp_buffer tuner does. It is netwarp's, not bpftune.

Run as `python3 tcp_buffer.py` in a network namespace; it ends with a signal, and prints each change. It has the
published rules of https://github.com/oracle/bpftune at commit d5d9f609 (src/tcp_buffer_tuner.bpf.c, tcp_buffer_tuner.c,
include/bpftune/bpftune.h, corr.h), and none of its code:

- a buffer is nearly full at three quarters of its limit (`NEARLY_FULL`), and a step is a quarter
  (`BPFTUNE_GROW_BY_DELTA`),
- the maximum of tcp_wmem grows when a sender that waits for room has a send buffer so large (`tcp_sndbuf_expand`),
- the maximum of tcp_rmem grows when a receiver has a receive buffer so large, and tcp_moderate_rcvbuf is then set
  (`tcp_rcv_space_adjust`, `event_handler`),
- no limit changes twice within 25 ms (`send_net_sysctl_event`),
- with ten samples or more, a limit that correlates with the RTT by more than 0.75 shrinks by a quarter instead, unless
  it would be at most the default (`corr_compute`, `event_handler`). Samples are never forgotten, and a socket's buffer
  does not shrink with the limit, so that each later event may shrink it again, down to just above the default,
- under pressure of TCP's memory and close to its exhaustion nothing grows (`tcp_nearly_out_of_memory`, whose last part
  would shrink both, but is never reached: the tcp_mem that it compares with a quarter of the memory is at most that).

What differs: bpftune is told by the kernel's functions; this program asks for all sockets every 25 ms
(NETLINK_SOCK_DIAG), which needs no BPF. A sender waits if two thirds of its buffer are in use and its window is not,
where bpftune is called only for one that waits. SO_RCVBUF cannot be seen, tcp_mem is left alone (it is the machine's),
and so are SYN queues and orphans.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import sqrt
from pathlib import Path

SETTINGS = Path("/proc/sys/net/ipv4")
INTERVAL_S = 0.025
LIMIT_BYTES = 2**31 - 1
CORRELATED, LEAST_SAMPLES = 0.75, 10
NETLINK_SOCK_DIAG, SOCK_DIAG_BY_FAMILY, DUMP = 4, 20, 0x301
INFO, SKMEMINFO = 2, 7
ESTABLISHED = 1


@dataclass(frozen=True)
class Connection:
    """A connection as the kernel reports it. Buffers and `queued`, the memory of data to send, are in bytes, `unacked`
    and `window` in packets."""

    cookie: bytes
    rtt_us: int
    unacked: int
    window: int
    acked: int
    received: int
    receive_buffer: int
    send_buffer: int
    queued: int


def connections(kernel: socket.socket) -> Iterator[Connection]:
    """The established connections of this namespace."""
    for family in (socket.AF_INET, socket.AF_INET6):
        # struct nlmsghdr, struct inet_diag_req_v2 (linux/inet_diag.h): all addresses and ports.
        asked = struct.pack(
            "=BBBxI48x", family, socket.IPPROTO_TCP, 1 << (INFO - 1) | 1 << (SKMEMINFO - 1), 1 << ESTABLISHED
        )
        kernel.send(struct.pack("=IHHII", 16 + len(asked), SOCK_DIAG_BY_FAMILY, DUMP, 1, 0) + asked)
        more = True
        while more:
            answer = kernel.recv(1 << 17)
            while len(answer) >= 16:
                size, kind = struct.unpack_from("=IH", answer)
                more = kind == SOCK_DIAG_BY_FAMILY
                if more:
                    yield from parsed(answer[16:size])
                answer = answer[(size + 3) & ~3 :]


def parsed(message: bytes) -> Iterator[Connection]:
    """The connection of a struct inet_diag_msg, if it has both attributes."""
    attributes, rest = {}, message[72:]
    while len(rest) >= 4:
        size, kind = struct.unpack_from("=HH", rest)
        attributes[kind] = rest[4:size]
        rest = rest[max((size + 3) & ~3, 4) :]
    if len(attributes.get(INFO, b"")) >= 136 and len(attributes.get(SKMEMINFO, b"")) >= 24:
        # struct tcp_info (linux/tcp.h); enum SK_MEMINFO_* (linux/sock_diag.h).
        info, memory = attributes[INFO], struct.unpack_from("=6I", attributes[SKMEMINFO])
        unacked, rtt_us, window = (struct.unpack_from("=I", info, at)[0] for at in (24, 68, 80))
        acked, received = struct.unpack_from("=QQ", info, 120)
        yield Connection(message[44:52], rtt_us, unacked, window, acked, received, memory[1], memory[3], memory[5])


def nearly_full(used: int, limit: int) -> bool:
    """Whether a quarter or less is left of the limit."""
    return used + (limit >> 2) >= limit


def correlation(samples: list[tuple[int, int]]) -> float:
    """Pearson's correlation of pairs; 0 for fewer than ten, or without spread."""
    if len(samples) < LEAST_SAMPLES:
        return 0.0
    x, y = ([float(value) for value in values] for values in zip(*samples, strict=True))
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    spread = sqrt(sum((one - mean_x) ** 2 for one in x) * sum((one - mean_y) ** 2 for one in y))
    return sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)) / spread if spread else 0.0


@dataclass
class Limit:
    """A sysctl of three sizes in bytes, least, default and largest; and the largest with the RTT at each event."""

    name: str
    samples: list[tuple[int, int]] = field(default_factory=list)

    def read(self) -> list[int]:
        """The three sizes."""
        return [int(size) for size in (SETTINGS / self.name).read_text().split()]

    def hit(self, rtt_us: int) -> None:
        """A connection comes close to the largest: raise it, or lower it if the RTT grows with it."""
        least, usual, largest = self.read()
        grown = largest + (largest >> 2)
        if grown >= LIMIT_BYTES:
            return
        self.samples.append((largest, rtt_us))
        if correlation(self.samples) > CORRELATED:
            self.set(least, usual, largest, largest - (largest >> 2), "the RTT grows with it")
        else:
            self.set(least, usual, largest, grown, "a buffer is nearly full")

    def set(self, least: int, usual: int, largest: int, wanted: int, why: str) -> None:
        """Write another largest size, unless it is at most the default."""
        if wanted > usual:
            (SETTINGS / self.name).write_text(f"{least} {usual} {wanted}")
            print(f"{self.name}: {largest} -> {wanted}: {why}", flush=True)


def pressure() -> bool:
    """Whether TCP's memory is nearly so full that the kernel is under pressure.

    Namespaces other than the first have no tcp_mem. There the kernel's own word counts, which comes later.
    """
    if not (SETTINGS / "tcp_mem").exists():
        line = next(line for line in Path("/proc/net/protocols").read_text().splitlines() if line.startswith("TCP "))
        return line.split()[4] == "yes"
    limit = int((SETTINGS / "tcp_mem").read_text().split()[1])
    line = next(line for line in Path("/proc/net/sockstat").read_text().splitlines() if line.startswith("TCP:"))
    return nearly_full(int(line.split()[line.split().index("mem") + 1]), limit)


def watch() -> None:
    """Watch and set until a signal ends it."""
    send, receive = Limit("tcp_wmem"), Limit("tcp_rmem")
    moderate = SETTINGS / "tcp_moderate_rcvbuf"
    before: dict[bytes, Connection] = {}
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_SOCK_DIAG) as kernel:
        kernel.bind((0, 0))
        while True:
            now = {one.cookie: one for one in connections(kernel)}
            if not pressure():
                known = [(before[cookie], one) for cookie, one in now.items() if cookie in before]
                if (sender := waiting_sender(known, send.read()[2])) is not None:
                    send.hit(sender.rtt_us)
                if (receiver := full_receiver(known, receive.read()[2])) is not None:
                    receive.hit(receiver.rtt_us)
                    if moderate.read_text().strip() != "1":
                        moderate.write_text("1")
                        print("tcp_moderate_rcvbuf: 1", flush=True)
            before = now
            time.sleep(INTERVAL_S)


def waiting_sender(known: list[tuple[Connection, Connection]], largest: int) -> Connection | None:
    """A connection that has sent, waits for room in a buffer close to the largest, and could send more at once."""
    for was, one in known:
        waits = 3 * one.queued >= 2 * one.send_buffer and one.unacked < one.window
        if one.acked > was.acked and waits and nearly_full(one.send_buffer, largest):
            return one
    return None


def full_receiver(known: list[tuple[Connection, Connection]], largest: int) -> Connection | None:
    """A connection that has received, with a buffer close to the largest."""
    for was, one in known:
        if one.received > was.received and nearly_full(one.receive_buffer, largest):
            return one
    return None


if __name__ == "__main__":
    watch()
