"""Losses by plan: the reaction of a sender to exact losses, at a wire that is a device."""

from __future__ import annotations

from math import sqrt

from netwarp.verify.measures import metric
from netwarp.verify.row import Experiment, Family, Range, Row, Size, share
from netwarp.verify.rows.networks import SEGMENT_BYTES, dumbbell, flow, plain_cubic

_WHOLE = (
    "a window is a whole number of packets and is cut to the lower one, and in each period there is a round trip of "
    "repair without growth, which the formula ignores"
)
_PLAIN = plain_cubic("fast_convergence", after="40")
"""The formula has no fast convergence (RFC 9438, section 4.7), which asks whether a peak is below the one before. It is
on at first: without it the window needs many minutes from above, since each loss finds it at the plateau."""
_EXPLAINED = {
    "reno": Range(
        0.15,
        0.0,
        "with the round trip of repair and a cut to whole packets, a period of 100 packets has 9.6 round trips, with a "
        "mean of 10.4",
        relative=True,
    ),
    "cubic": Range(
        0.16,
        0.26,
        "for (1 / C)^(1/3) = 1.36 s before and after its plateau CUBIC's window is within a packet of it, so a loss in "
        "this time finds the same maximum again: means of 157 to 228 at 1/10,000, and of up to 48 at 1/1000, remain",
        relative=True,
    ),
}
_NAMES = {"reno": "Reno", "cubic": "CUBIC"}
_SOURCES = {
    "reno": "1.22 / √p; M. Mathis et al.: The Macroscopic Behavior of the TCP Congestion Avoidance Algorithm (1997)",
    "cubic": "RFC 9438, section 5.2, table 1 (C = 0.4)",
}


_RENO = (
    (100, 12.2, Size.QUICK, ("60s", "10s")),
    (1000, 38.7, Size.QUICK, ("100s", "20s")),
    (8192, 110.9, Size.USUAL, ("250s", "100s")),
)
"""Reno with a loss of every n-th packet: the mean window in packets, and the run's duration and warm-up."""


def _path(name: str, loss: str, flows: str, duration: str, warmup: str = "0s") -> Experiment:
    """A round trip of 100 ms without congestion, and these losses of packets that leave r1 for h2."""
    return dumbbell(
        name,
        flows=flows,
        duration=duration,
        warmup=warmup,
        rate="1gbit",
        delay="50ms",
        queue="pfifo limit 20000",
        loss="",
        wire=f'wire = "device"\nloss = {{ forward = "{loss}" }}',
    )


def _losing(control: str, every: int, times: tuple[str, str]) -> Experiment:
    """One flow that loses each packet whose number is a multiple of `every`; `times` are duration and warm-up."""
    flows = flow("bulk", "bulk", cc=control)
    flows += f"\n{_PLAIN}" if control == "cubic" else ""
    return _path(f"{control}-response-{every}", f"every {every}", flows, *times)


def _response(control: str, every: int, expected: float, size: Size, times: tuple[str, str]) -> Row:
    return Row(
        f"{control}-response-{every}",
        f"At a round trip of 100 ms and a loss of each {every:,}th packet, {_NAMES[control]}'s mean window is this.",
        _SOURCES[control],
        "packets",
        {"cwnd_pkts_mean": expected},
        share(0.05, _WHOLE),
        _losing(control, every, times),
        metric("flow", "bulk", "cwnd_pkts_mean"),
        explained=_EXPLAINED[control],
        size=size,
    )


def equation_mbps(loss: float, rtt_s: float, segment_bytes: int = SEGMENT_BYTES) -> float:
    """The rate of Reno at a share of lost packets, each segment acknowledged, RTO = 4 RTT (RFC 5348, section 3.1)."""
    root = sqrt(2 * loss / 3)
    timeouts = 4 * rtt_s * 3 * sqrt(3 * loss / 8) * loss * (1 + 32 * loss**2)
    return segment_bytes * 8 / (rtt_s * root + timeouts) / 1e6


def _equation(every: int, size: Size, times: tuple[str, str]) -> Row:
    return Row(
        f"tfrc-equation-{every}",
        f"At a round trip of 100 ms and a loss of each {every:,}th packet, Reno's goodput is that of TFRC's equation.",
        "RFC 5348, section 3.1, b = 1 and t_RTO = 4 R",
        "Mbit/s",
        {"goodput_mbps": equation_mbps(1 / every, 0.1)},
        share(
            0.1, "the equation is for random losses and counts timeouts; here each loss is repaired by fast recovery"
        ),
        _losing("reno", every, times),
        metric("flow", "bulk", "goodput_mbps"),
        size=size,
    )


FAMILY = Family(
    "Losses by plan",
    (
        *(_response("reno", every, pkts, size, times) for every, pkts, size, times in _RENO),
        *(_equation(every, size, times) for every, _, size, times in _RENO),
        _response("cubic", 100, 12, Size.QUICK, ("120s", "60s")),
        _response("cubic", 1000, 38, Size.QUICK, ("200s", "80s")),
        _response("cubic", 10_000, 187, Size.USUAL, ("300s", "100s")),
        _response("cubic", 100_000, 1054, Size.COMPLETE, ("300s", "150s")),
    ),
)
