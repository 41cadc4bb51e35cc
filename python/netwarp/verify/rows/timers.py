"""Timers of TCP in the kernel, which RFCs and the kernel's documentation state."""

from __future__ import annotations

from itertools import pairwise

from netwarp.store.rundir import RunDir
from netwarp.verify.measures import numbered, packets_of
from netwarp.verify.row import Family, Range, Row
from netwarp.verify.rows.networks import dumbbell, flow

_WHEEL = (
    "the kernel's timer wheel fires up to an eighth of a timeout late and never early (kernel/time/timer.c: each level "
    "has 64 slots, and is 8 times as coarse as the one before)"
)
_SYN_S = (1, 2, 3, 4, 5, 7, 11, 19, 35, 67)
_DOUBLINGS = 6


def _syns(run: RunDir) -> dict[str, float]:
    """When each SYN but the first was sent, in seconds after the first."""
    times = packets_of(run, "bulk", "access:h1")["enqueue_ns"].to_list()
    return numbered([(one - times[0]) / 1e9 for one in times[1:]])


def _gaps(run: RunDir) -> dict[str, float]:
    """How much longer each timeout is than the one before, from the first retransmission by timeout on.

    The outage begins at 5 s. The first packets after it are what was on its way, and a probe of the tail.
    """
    times = packets_of(run, "bulk", "access:h1")["enqueue_ns"].to_list()
    late = [one for one in times if one > 6 * 10**9]
    gaps = [later - earlier for earlier, later in pairwise(late)]
    return numbered([later / earlier for earlier, later in pairwise(gaps)][:_DOUBLINGS])


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
            dumbbell("syn-schedule", flows=flow("bulk", "bulk"), duration="150s", loss="100%"),
            _syns,
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
    ),
)
