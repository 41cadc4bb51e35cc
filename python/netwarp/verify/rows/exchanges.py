"""Exchanges of programs: round trips that TCP options save or cost."""

from __future__ import annotations

from netwarp.store.rundir import RunDir
from netwarp.verify.measures import by_axis, printed
from netwarp.verify.row import Family, Range, Row, within
from netwarp.verify.rows.networks import SEGMENT_BYTES, dumbbell, flow, program

_RTT_MS = 50.0
_DELAYED_ACK_MS = 40.0
_ON_THE_LINKS = "frames of less than 100 bytes take 0.08 ms on the links of a round trip"
_SIZES = {10: 1, 30: 2, 70: 3}

_TIMES = """
import socket, sys, time

def exchange(fast):
    begun = time.monotonic()
    own = socket.socket()
    if fast:
        own.sendto(b"x", socket.MSG_FASTOPEN, (sys.argv[1], 7000))
    else:
        own.connect((sys.argv[1], 7000))
        own.send(b"x")
    own.recv(1)
    own.close()
    return 1000 * (time.monotonic() - begun)

print("connect", exchange(False))
exchange(True)
print("fast open", exchange(True))
"""
_ANSWERS = """
import socket
own = socket.create_server(("", 7000))
own.setsockopt(socket.IPPROTO_TCP, socket.TCP_FASTOPEN, 5)
while True:
    peer, _ = own.accept()
    peer.recv(1)
    peer.send(b"y")
    peer.close()
"""
_WRITES = """
import socket, sys, time
own = socket.create_connection((sys.argv[1], 7000))
for label, at_once in (("Nagle", 0), ("TCP_NODELAY", 1)):
    own.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, at_once)
    for _ in range(20):
        begun = time.monotonic()
        own.send(b"x")
        own.send(b"x")
        own.recv(1)
        took = 1000 * (time.monotonic() - begun)
        time.sleep(0.5)
    print(label, took)
"""
_WAITS_FOR_BOTH = """
import socket
own = socket.create_server(("", 7000))
peer, _ = own.accept()
came = b""
while more := peer.recv(2):
    came += more
    if len(came) == 2:
        came = b""
        peer.send(b"y")
"""


def _of_own(run: RunDir) -> dict[str, float]:
    return printed(run, "own")


def _rounds_after_idle(run: RunDir) -> float | None:
    """The rounds of the last response: a round trip less half of one for the request and the last packet each."""
    ends = run.scan("transfers").sort("sequence", maintain_order=True).drop_nulls("end_ns").collect()
    return (ends["end_ns"][-1] - ends["start_ns"][-1]) / 1e6 / _RTT_MS if ends.height > 1 else None


FAMILY = Family(
    "Exchanges",
    (
        Row(
            "fast-open",
            "TCP Fast Open saves the round trip of the handshake.",
            "RFC 7413, section 1; S. Radhakrishnan et al.: TCP Fast Open (CoNEXT 2011)",
            "ms",
            {"connect": 2 * _RTT_MS, "fast open": _RTT_MS},
            within(0.5, f"{_ON_THE_LINKS}; the program's calls take no time"),
            dumbbell(
                "fast-open",
                flows=program("own", _TIMES, _ANSWERS),
                duration="5s",
                delay="25ms",
                settings=tuple(f'nodes.{node}.sysctl={{ "net.ipv4.tcp_fastopen" = 3 }}' for node in ("h1", "h2")),
            ),
            _of_own,
            phases="it is the time of a single exchange to 0.5 ms",
        ),
        Row(
            "nagle",
            "A second small write waits for the ACK of the first, which the receiver delays by 40 ms.",
            "RFC 9293, section 3.7.4 (Nagle) and 3.8.6.3; TCP_DELACK_MIN: 40 ms",
            "ms",
            {"Nagle": 2 * _RTT_MS + _DELAYED_ACK_MS, "TCP_NODELAY": _RTT_MS},
            Range(
                0.0, 6.0, f"{_ON_THE_LINKS}; the timer wheel fires up to an eighth of 40 ms late (kernel/time/timer.c)"
            ),
            dumbbell("nagle", flows=program("own", _WRITES, _WAITS_FOR_BOTH), duration="60s", delay="25ms"),
            _of_own,
            phases="it is the time of a single exchange, of which no part is missing",
        ),
        Row(
            "idle-restart",
            "After an idle time a sender begins with the initial window again: 10, 20 and 40 segments.",
            "RFC 5681, section 4.1; net.ipv4.tcp_slow_start_after_idle (1)",
            "round trips",
            {str(segments * SEGMENT_BYTES): float(rounds) for segments, rounds in _SIZES.items()},
            Range(0.001, 0.05, "70 frames and a request take 0.02 round trips on a link of 1 Gbit/s"),
            dumbbell(
                "idle-restart",
                flows=flow("web", "request", cc="reno", response_size=14480, think="5s"),
                duration="30s",
                rate="1gbit",
                delay="25ms",
                queue="pfifo limit 1000",
                sweep=f'"flows.web.response_size" = {[segments * SEGMENT_BYTES for segments in _SIZES]}',
            ),
            by_axis("flows.web.response_size", _rounds_after_idle),
            phases="it is the time of a few round trips to a thousandth, and the noise makes each of them longer",
        ),
    ),
)
