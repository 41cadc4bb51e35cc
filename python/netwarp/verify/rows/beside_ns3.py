"""ns-3 beside netwarp: the same networks in both, one after the other, where ns-3 is installed."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from operator import sub, truediv

from netwarp.store.rundir import RunDir
from netwarp.store.summary import axis_text
from netwarp.values.units import parse_duration, parse_rate
from netwarp.verify import ns3
from netwarp.verify.measures import metric
from netwarp.verify.row import Family, Measure, Need, Row, Size, share, within
from netwarp.verify.rows.networks import BOTTLENECK, dumbbell, flow, plain_cubic

_CC = "flows.bulk.cc"
_RATE, _DELAY, _QUEUE = (f"links.bottleneck.{one}" for one in ("rate", "delay", "queue"))
_AXES = {
    _CC: tuple(ns3.CONTROLS),
    _RATE: ("5mbit", "20mbit"),
    _DELAY: ("5ms", "20ms"),
    _QUEUE: ("pfifo limit 50", "pfifo limit 150"),
}
_PLAIN = plain_cubic("tcp_friendliness", "fast_convergence")
"""ns-3 3.37 has no Reno-friendly region (RFC 9438, section 4.3), so Linux goes without. Fast convergence (section 4.7)
turns a packet into another regime: it asks whether a peak is below the one before."""
_WARMUP_S, _DURATION_S = 20, 140
_NETWORKS = dumbbell(
    "beside-ns3",
    flows=f"{flow('bulk', 'bulk', cc='cubic')}\n{_PLAIN}",
    duration=f"{_DURATION_S}s",
    warmup=f"{_WARMUP_S}s",
    sweep="\n".join(f'"{axis}" = {list(values)}' for axis, values in _AXES.items()),
)
_SOURCE = (
    f"ns-3 (package {ns3.PACKAGE}), run here: TcpCubic and TcpLinuxReno with SACK and PRR, a FIFO, one flow; "
    "CUBIC without Reno-friendly region and fast convergence in both"
)
_LABELS = tuple(", ".join(values) for values in product(*_AXES.values()))
_PHASE = "two minutes begin and end at other phases of the sawtooth, which has a few periods in it"
_NEEDS = Need("ns-3", ns3.is_installed)


def _beside(ours: Measure, stem: str, compare: Callable[[float, float], float]) -> Measure:
    """A value of netwarp compared with ns-3's for the network of the run."""

    def measure(run: RunDir) -> dict[str, float]:
        point = {axis: axis_text(run.description.point[axis]) for axis in _AXES}
        network = ns3.Dumbbell(
            point[_CC],
            1,
            parse_rate(point[_RATE]),
            parse_duration(point[_DELAY]),
            int(point[_QUEUE].split()[-1]),
            _WARMUP_S * 10**9,
            _DURATION_S * 10**9,
        )
        return {", ".join(point.values()): compare(value, ns3.measured(network)[stem]) for value in ours(run).values()}

    return measure


FAMILY = Family(
    "Beside ns-3",
    (
        Row(
            "beside-ns3-goodput",
            "Over 16 networks, one flow has the goodput that it has in ns-3.",
            _SOURCE,
            "netwarp / ns-3",
            dict.fromkeys(_LABELS, 1.0),
            share(0.01, "a loss may come a packet earlier or later, and decides how long a short queue is empty"),
            _NETWORKS,
            _beside(metric("flow", "bulk", "goodput_mbps"), "goodput_mbps", truediv),
            size=Size.USUAL,
            needs=_NEEDS,
        ),
        Row(
            "beside-ns3-window",
            "Over the same networks, the window has the mean that it has in ns-3.",
            _SOURCE,
            "netwarp / ns-3",
            dict.fromkeys(_LABELS, 1.0),
            share(0.05, _PHASE),
            _NETWORKS,
            _beside(metric("flow", "bulk", "cwnd_pkts_mean"), "cwnd_pkts_mean", truediv),
            size=Size.USUAL,
            needs=_NEEDS,
        ),
        Row(
            "beside-ns3-queue",
            "Over the same networks, the queue has the mean length that it has in ns-3.",
            _SOURCE,
            "packets, netwarp - ns-3",
            dict.fromkeys(_LABELS, 0.0),
            within(2, _PHASE),
            _NETWORKS,
            _beside(metric("queue", BOTTLENECK, "length_pkts_mean"), "length_pkts_mean", sub),
            size=Size.USUAL,
            phases="ns-3 runs without the noise, whose jitter keeps packets out of the queue",
            needs=_NEEDS,
        ),
    ),
)
