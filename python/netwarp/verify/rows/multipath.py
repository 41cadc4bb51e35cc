"""Multipath TCP: two paths carry one connection, in the network of the kernel's own test."""

from __future__ import annotations

import json

from netwarp.verify.measures import printed
from netwarp.verify.row import Experiment, Family, Range, Row
from netwarp.verify.rows.networks import flow, program

_BYTES = 2 * 2048 * 4096
_FIRST_MBPS = 10
_FRAME_BYTES = 1514
_SEGMENT_BYTES = 1500 - 20 - 20 - 12 - 24
"""The payload of a packet: less IPv4, TCP, timestamps, and a mapping of 64 bits with an ACK of 32 (RFC 8684, 3.3)."""
_SLACK_MS = 50
"""The time that the selftest allows besides its 10 % of overhead and the sleeps of its program."""
_MPTCP = 262
_SENDS = f"""
import socket, sys, time
begun = time.monotonic()
own = socket.socket(socket.AF_INET, socket.SOCK_STREAM, {_MPTCP})
own.connect((sys.argv[1], 7000))
own.sendall(bytes({_BYTES}))
own.recv(1)
print("transfer", 1000 * (time.monotonic() - begun))
"""
_TAKES = f"""
import socket
own = socket.socket(socket.AF_INET, socket.SOCK_STREAM, {_MPTCP})
own.bind(("", 7000))
own.listen()
peer, _ = own.accept()
left = {_BYTES}
while left:
    left -= len(peer.recv(1 << 20))
peer.send(b"y")
"""
_LIMIT = "ip mptcp limits set subflow 1"
_SECOND_PATH = (
    f"{_LIMIT}; ip route add 10.0.2.0/24 via 10.0.1.2 dev eth1 metric 101; "
    "ip mptcp endpoint add 10.0.1.1 dev eth1 subflow"
)


def _path(name: str, rate_mbps: int, delay: str) -> str:
    """The lines of a path with netem at both ends. It is in the senders' own queue, so that these see it leave."""
    netem = f"qdisc add dev {{dev}} root netem rate {rate_mbps}mbit delay {delay} limit 50"
    raw = f"raw = {{ h1 = {json.dumps([netem])}, r1 = {json.dumps([netem])} }}"
    return f'[links.{name}]\nends = ["h1", "r1"]\nrate = "1gbit"\n{raw}'


def _experiment(second_mbps: int) -> Experiment:
    name = f"mptcp-{_FIRST_MBPS}-and-{second_mbps}"
    text = f"""\
name = "{name}"
duration = "15s"
seeds = 1
[nodes]
h1 = {{}}
r1 = {{ forward = true }}
h2 = {{}}
{_path("first", _FIRST_MBPS, "1ms")}
{_path("second", second_mbps, "25ms")}
[links.third]
ends = ["r1", "h2"]
rate = "1gbit"
{flow("client", "command", client=["sh", "-c", _SECOND_PATH])}
{flow("server", "command", source="h2", to="h1", client=["sh", "-c", _LIMIT])}
{program("transfer", _SENDS, _TAKES)}
start = "100ms"
"""
    return Experiment(name, text)


def _row(second_mbps: int) -> Row:
    sum_mbps = _FIRST_MBPS + second_mbps
    least_ms = _BYTES / _SEGMENT_BYTES * _FRAME_BYTES * 8 / sum_mbps / 1000
    allowed_ms = _BYTES * 8 * 10 / 9 / sum_mbps / 1000 + _SLACK_MS
    experiment = _experiment(second_mbps)
    return Row(
        experiment.name,
        f"A connection over paths of {_FIRST_MBPS} and {second_mbps} Mbit/s carries 16 MiB as fast as both together.",
        "frames of 1514 bytes at both rates; run_test() in tools/testing/selftests/net/mptcp/simult_flows.sh",
        "ms",
        {"transfer": least_ms},
        Range(0, allowed_ms - least_ms, "no path pauses in the reference; the kernel's own test allows this much more"),
        experiment,
        lambda run: printed(run, "transfer"),
        since="6.12",  # 6.1's own test allows as much, and its scheduler takes 2 % more on unequal paths
    )


FAMILY = Family("Multipath TCP", (_row(_FIRST_MBPS), _row(3)))
