"""Timers of TCP in the kernel, which RFCs and the kernel's documentation state."""

from __future__ import annotations

from itertools import pairwise

import polars as pl

from netwarp.store.rundir import RunDir
from netwarp.verify.measures import numbered, packets_of, printed, tcp_packets
from netwarp.verify.row import Family, Range, Row
from netwarp.verify.rows.networks import dumbbell, flow, program

_WHEEL = (
    "the kernel's timer wheel fires up to an eighth of a timeout late and never early (kernel/time/timer.c: each level "
    "has 64 slots, and is 8 times as coarse as the one before)"
)
_SYN_S = (1, 2, 3, 4, 5, 7, 11, 19, 35, 67)
_DOUBLINGS = 6
_SYNACK_S = (1, 3, 7, 15, 31)
_KEEPALIVE_S, _PROBES_S, _PROBES = 7200, 75, 9
_RETRIES2_S = 924.6
_RTO_MAX_S = 120
_MS = 10**6
_SMALL_WINDOW = ('nodes.h2.sysctl={ "net.ipv4.tcp_window_scaling" = 0 }',)
_OUTAGE_NS = 5 * 10**9
_NO_ANSWER = '[[changes]]\nat = "{at}"\nlink = "bottleneck"\nloss = "100%"'

_IDLE = """
import socket, sys, time
own = socket.create_connection((sys.argv[1], 7000))
own.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
begun = time.monotonic()
try:
    own.recv(1)
except TimeoutError:
    print("given up", time.monotonic() - begun)
"""
_SILENT = """
import socket
own = socket.create_server(("", 7000))
peer, _ = own.accept()
peer.recv(1)
"""


def _syns(run: RunDir) -> dict[str, float]:
    """When each SYN but the first was sent, in seconds after the first."""
    times = packets_of(run, "bulk", "access:h1")["enqueue_ns"].to_list()
    return numbered([(one - times[0]) / 1e9 for one in times[1:]])


def _gaps(run: RunDir) -> dict[str, float]:
    """How much longer each timeout is than the one before, from the first retransmission by timeout on.

    The outage begins at 5 s. The first packets after it were on their way, or probe the tail.
    """
    times = packets_of(run, "bulk", "access:h1")["enqueue_ns"].to_list()
    late = [one for one in times if one > 6 * 10**9]
    gaps = [later - earlier for earlier, later in pairwise(late)]
    return numbered([later / earlier for earlier, later in pairwise(gaps)][:_DOUBLINGS])


def _timeout_ms(run: RunDir) -> dict[str, float]:
    """How much longer the timeout is than the smoothed round trip, in all samples whose variation is small."""
    samples = run.scan("sockets").filter(pl.col("rttvar_us") < 40_000, pl.col("time_ns") > 5 * 10**9)
    over = samples.select(((pl.col("rto_us") - pl.col("rtt_us")) / 1e3).median()).collect().item()
    return {} if over is None else {"timeout - round trip": over}


def _probe(run: RunDir) -> dict[str, float]:
    """From the last segment that an ACK let go to the probe that follows it, in smoothed round trips."""
    last = run.scan("acks").select(pl.col("time_ns").max()).collect().item()
    times = packets_of(run, "bulk", "access:h1")["enqueue_ns"]
    sent, after = times.filter(times <= last), times.filter(times > last)
    srtt_us = run.scan("acks").sort("time_ns", maintain_order=True).select(pl.col("srtt_us").last()).collect().item()
    return {"probe": (after[0] - sent[-1]) / srtt_us / 1e3} if len(sent) and len(after) else {}


def _given_up(run: RunDir) -> dict[str, float]:
    """From the first retransmission that an outage at 5 s causes to the last sample of the sender's socket."""
    times = packets_of(run, "bulk", "access:h1")["enqueue_ns"].to_list()
    first = next((one for one in times if one > _OUTAGE_NS + 200 * _MS), None)
    last = run.scan("sockets").filter(node="h1").select(pl.col("time_ns").max()).collect().item()
    return {"given up": (last - first) / 1e9} if first and last < run.lab.duration_ns else {}


def _synacks(run: RunDir) -> dict[str, float]:
    times = tcp_packets(run, "bottleneck:h2")["enqueue_ns"].to_list()
    return numbered([(one - times[0]) / 1e9 for one in times[1:]])


def _keepalives(run: RunDir) -> dict[str, float]:
    """When each probe was sent after the connection was made, and when the program heard that it has ended."""
    times = tcp_packets(run, "access:h1")["enqueue_ns"].to_list()
    probes = [(one - times[0]) / 1e9 for one in times if one - times[0] > 60 * 10**9]
    return numbered(probes[:_PROBES]) | printed(run, "own")


_LOST = dumbbell("syn-schedule", flows=flow("bulk", "bulk"), duration="150s", loss="100%")

FAMILY = Family(
    "Timers",
    (
        Row(
            "syn-schedule",
            "A SYN without an answer is sent again at fixed intervals of 1 s four times, then at doubling ones.",
            "Documentation/networking/ip-sysctl.rst of Linux 6.12: tcp_syn_linear_timeouts (4), tcp_syn_retries (6)",
            "s",
            numbered([float(one) for one in _SYN_S]),
            Range(0.001, 0.125, _WHEEL, relative=True),
            _LOST,
            _syns,
            since="6.5",
        ),
        Row(
            "syn-doubling",
            "Before tcp_syn_linear_timeouts, each interval is twice the one before.",
            "Documentation/networking/ip-sysctl.rst of Linux 6.1: tcp_syn_retries (6); RFC 6298, section 2.1",
            "s",
            numbered([float(2**number - 1) for number in range(1, 7)]),
            Range(0.001, 0.125, _WHEEL, relative=True),
            _LOST,
            _syns,
            before="6.5",
        ),
        Row(
            "rto-doubling",
            "A retransmission without an answer doubles the timeout.",
            "RFC 6298, section 5.5",
            "times the timeout before",
            numbered([2.0] * _DOUBLINGS),
            Range(0.125, 0.125, f"{_WHEEL}; a late timeout before makes the ratio smaller", relative=True),
            dumbbell(
                "rto-doubling",
                flows=flow("bulk", "bulk"),
                duration="200s",
                more='[[changes]]\nat = "5s"\nlink = "bottleneck"\nloss = "100%"',
            ),
            _gaps,
        ),
        Row(
            "rto-floor",
            "On a path whose round trip hardly varies, the timeout is the smoothed round trip and 200 ms.",
            "net/ipv4/tcp_input.c, tcp_rtt_estimator() and tcp_set_rto(); TCP_RTO_MIN; RFC 6298, section 2",
            "ms",
            {"timeout - round trip": 200.0},
            Range(0.1, 1.1, "timeouts are whole ms (HZ = 1000), rounded up"),
            dumbbell(
                "rto-floor",
                flows=flow("bulk", "bulk"),
                duration="20s",
                settings=_SMALL_WINDOW,
            ),
            _timeout_ms,
        ),
        Row(
            "tail-loss-probe",
            "Two smoothed round trips after the last segment, a probe follows if no ACK has come.",
            "RFC 8985, section 7.2: PTO; net/ipv4/tcp_output.c, tcp_schedule_loss_probe()",
            "smoothed round trips",
            {"probe": 2.0},
            Range(0.01, 0.15, f"2 ms of 108 are added (TCP_TIMEOUT_MIN_US); {_WHEEL}", relative=True),
            dumbbell(
                "tail-loss-probe",
                flows=flow("bulk", "bulk"),
                duration="10s",
                more=_NO_ANSWER.format(at="5s"),
                settings=_SMALL_WINDOW,
            ),
            _probe,
        ),
        Row(
            "retries2",
            "A connection without an answer is given up after 924.6 s or later.",
            "Documentation/networking/ip-sysctl.rst: tcp_retries2 (15); RFC 9293, section 3.8.3",
            "s",
            {"given up": _RETRIES2_S},
            Range(
                0.0,
                1.125 * _RTO_MAX_S,
                f"a connection ends when a timer fires, each {_RTO_MAX_S} s by then (TCP_RTO_MAX); {_WHEEL}",
            ),
            dumbbell("retries2", flows=flow("bulk", "bulk"), duration="1200s", more=_NO_ANSWER.format(at="5s")),
            _given_up,
        ),
        Row(
            "synack-schedule",
            "A SYN-ACK without an answer is sent again after 1 s, and after twice as long each time: five times.",
            "Documentation/networking/ip-sysctl.rst: tcp_synack_retries (5); RFC 6298, section 2.1",
            "s",
            numbered([float(one) for one in _SYNACK_S]),
            Range(0.001, 0.125, _WHEEL, relative=True),
            dumbbell(
                "synack-schedule",
                flows=flow("bulk", "bulk"),
                duration="70s",
                more=_NO_ANSWER.format(at="500ms"),
                settings=("links.bottleneck.loss={ forward = '0%', reverse = '100%' }",),
            ),
            _synacks,
        ),
        Row(
            "keepalive",
            "An idle connection is probed after two hours, then nine times 75 s apart, and given up 75 s later.",
            "Documentation/networking/ip-sysctl.rst: tcp_keepalive_time, _probes, _intvl; RFC 9293, section 3.8.4",
            "s",
            numbered([float(_KEEPALIVE_S + number * _PROBES_S) for number in range(_PROBES)])
            | {"given up": float(_KEEPALIVE_S + _PROBES * _PROBES_S)},
            Range(0.001, 0.125, _WHEEL, relative=True),
            dumbbell(
                "keepalive",
                flows=program("own", _IDLE, _SILENT),
                duration="9000s",
                more=_NO_ANSWER.format(at="10s") + '\n[record]\nsample = "600s"',
            ),
            _keepalives,
        ),
    ),
)
