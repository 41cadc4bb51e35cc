"""Live sockets to watch, and ss's output about them."""

from __future__ import annotations

import re
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

PLAIN = {
    "mss": "snd_mss_bytes",
    "pmtu": "pmtu_bytes",
    "rcvmss": "rcv_mss_bytes",
    "advmss": "advmss_bytes",
    "cwnd": "snd_cwnd_pkts",
    "ssthresh": "snd_ssthresh_pkts",
    "bytes_sent": "bytes_sent",
    "bytes_retrans": "bytes_retrans",
    "bytes_acked": "bytes_acked",
    "bytes_received": "bytes_received",
    "segs_out": "segs_out",
    "segs_in": "segs_in",
    "data_segs_out": "data_segs_out",
    "data_segs_in": "data_segs_in",
    "delivered": "delivered_pkts",
    "delivered_ce": "delivered_ce_pkts",
    "unacked": "unacked_pkts",
    "sacked": "sacked_pkts",
    "lost": "lost_pkts",
    "dsack_dups": "dsack_dups",
    "reordering": "reordering",
    "reord_seen": "reord_seen",
    "rcv_space": "rcv_space_bytes",
    "rcv_ssthresh": "rcv_ssthresh_bytes",
    "notsent": "notsent_bytes",
    "rcv_ooopack": "rcv_ooopack",
    "snd_wnd": "snd_wnd_bytes",
    "backoff": "backoff",
    "lastsnd": "last_data_sent_ms",
    "lastrcv": "last_data_recv_ms",
    "lastack": "last_ack_recv_ms",
}
MEMORY = {
    "r": "rmem_alloc_bytes",
    "rb": "rcvbuf_bytes",
    "t": "wmem_alloc_bytes",
    "tb": "sndbuf_bytes",
    "f": "fwd_alloc_bytes",
    "w": "wmem_queued_bytes",
    "o": "optmem_bytes",
    "bl": "backlog_bytes",
    "d": "drops",
}
LIMITED = {"busy": "busy_time_us", "rwnd_limited": "rwnd_limited_us", "sndbuf_limited": "sndbuf_limited_us"}
SINCE = ("last_data_sent_ms", "last_data_recv_ms", "last_ack_recv_ms")
"""Columns that grow while nothing happens."""


UNPRINTED: dict[str, tuple[object, ...]] = {"reordering": (3,), "snd_ssthresh_pkts": (0x7FFFFFFF,)}
"""Initial values that ss does not print."""


def read_ss(text: str) -> dict[str, dict[str, object]]:
    """`ss -tinmeOH`'s output for each socket, in our columns, by `source:port destination:port`."""
    found = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) > 5 and words[0] == "ESTAB":
            found[f"{words[3]} {words[4]}"] = _socket(line, words)
    return found


def _socket(line: str, words: list[str]) -> dict[str, object]:
    told: dict[str, object] = {"recv_queue_bytes": int(words[1]), "send_queue_bytes": int(words[2]), "state": 1}
    values = dict(word.split(":", 1) for word in words if re.fullmatch(r"[a-z_]+:[^()]+", word))
    told |= {column: int(values[name]) for name, column in PLAIN.items() if name in values}
    told["rto_us"] = round(float(values["rto"]) * 1000)
    told["rtt_us"], told["rttvar_us"] = (round(float(part) * 1000) for part in values["rtt"].split("/"))
    told["snd_wscale"], told["rcv_wscale"] = map(int, values.get("wscale", "0,0").split(","))
    for name, column in {"ato": "ato_us", "minrtt": "min_rtt_us", "rcv_rtt": "rcv_rtt_us"}.items():
        if name in values:
            told[column] = round(float(values[name]) * 1000)
    if "retrans" in values:
        told["retrans_pkts"], told["total_retrans"] = map(int, values["retrans"].split("/"))
    for name, column in {
        "busy": "busy_time_us",
        "rwnd_limited": "rwnd_limited_us",
        "sndbuf_limited": "sndbuf_limited_us",
    }.items():
        if found := re.search(rf"\b{name}:(\d+)ms", line):
            told[column] = int(found[1])  # ss cuts it to milliseconds
    for name in ("pacing_rate", "delivery_rate", "max_pacing_rate"):
        if found := re.search(rf"(?<!_)\b{name} (\d+)bps", line):
            told[f"{name}_bps"] = int(found[1])
    told["delivery_rate_app_limited"] = "app_limited" in words
    told["options"] = sum(bit for bit, name in ((1, "ts"), (2, "sack"), (8, "ecn"), (16, "ecnseen")) if name in words)
    told["congestion_control"] = next(w for w in words if w in {"cubic", "bbr", "reno", "vegas", "dctcp"})
    told["inode"] = int(values["ino"])
    told["cookie"] = int(values["sk"], 16)
    memory = re.search(r"skmem:\(([^)]*)\)", line)
    assert memory is not None
    for part in memory[1].split(","):
        name, number = re.fullmatch(r"([a-z]+)(\d+)", part).groups()  # type: ignore[union-attr]
        told[f"skmem_{MEMORY[name]}"] = int(number)
    if bbr := re.search(r"bbr:\(([^)]*)\)", line):
        told |= _bbr(dict(part.split(":") for part in bbr[1].split(",")))
    return told


def _bbr(parts: dict[str, str]) -> dict[str, object]:
    gains: dict[str, object] = {
        f"bbr_{name}": round(float(parts.get(name, "0")) * 256) for name in ("pacing_gain", "cwnd_gain")
    }
    return gains | {
        "bbr_bw_bps": int(parts["bw"].removesuffix("bps")),
        "bbr_min_rtt_us": round(float(parts["mrtt"]) * 1000),
    }


def differences(ss: dict[str, object], ours: dict[str, object], skip: tuple[str, ...] = ()) -> dict[str, object]:
    """Differences between our row and ss's output. Values that ss does not print must be 0 or absent."""
    wrong: dict[str, object] = {}
    for column, theirs in ss.items():
        value = ours[column]
        if column.endswith(("busy_time_us", "limited_us")) and isinstance(value, int):
            value //= 1000
        if column == "options" and isinstance(value, int):
            value &= 0b11011  # window scale is told by its numbers, data in SYN not at all
        if value != theirs and column not in skip:
            wrong[column] = (theirs, value)
    for column in PLAIN.values():
        if column not in ss and ours[column] not in UNPRINTED.get(column, (None, 0)):
            wrong[column] = ("not printed", ours[column])
    return {column: pair for column, pair in wrong.items() if column not in skip}


@dataclass(frozen=True)
class Pair:
    """The two ends of a connection over loopback."""

    client: socket.socket
    server: socket.socket

    @property
    def port(self) -> int:
        """The server's port, which no other connection of the machine has."""
        return int(self.server.getsockname()[1])

    def carry(self, count: int, chunk: int = 20_000) -> None:
        """Send chunks from the client to the server, which takes each before the next."""
        for _ in range(count):
            self.client.sendall(bytes(chunk))
            left = chunk
            while left:
                left -= len(self.server.recv(left))


@contextmanager
def connected(cc: str = "", count: int = 1, address: str = "127.0.0.1") -> Iterator[list[Pair]]:
    """Connections over loopback to one port, with this congestion control at both ends."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with ExitStack() as stack:
        listener = stack.enter_context(socket.socket(family))
        _control(listener, cc)
        listener.bind((address, 0))
        listener.listen(count)
        pairs = []
        for _ in range(count):
            client = stack.enter_context(socket.socket(family))
            _control(client, cc)
            client.connect(listener.getsockname())
            pairs.append(Pair(client, stack.enter_context(listener.accept()[0])))
        yield pairs


def _control(one: socket.socket, cc: str) -> None:
    if cc:
        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, cc.encode())


def ss(*arguments: str) -> dict[str, dict[str, object]]:
    """ss's present output."""
    done = subprocess.run(["ss", "-tinmeOH", *arguments], capture_output=True, text=True, check=True)
    return read_ss(done.stdout)
