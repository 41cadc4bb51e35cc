"""The rows of queueing theory for `netwarp verify`: the mean time in the system at several loads of two queues."""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt

from netwarp.store.rundir import RunDir
from netwarp.store.summary import axis_text
from netwarp.studies.queueing_theory.sharing import law, slowdowns
from netwarp.studies.queueing_theory.system import HEADER_BYTES, System
from netwarp.verify.measures import by_axis, metric, packets_at
from netwarp.verify.row import Experiment, Family, Range, Row, Size, share, within

_LOADS = (0.1, 0.3, 0.5, 0.7, 0.8, 0.9)
_MEASURED_MS = 12_000
"""The scenarios last 13 s, the first of which is left out."""
_DEVIATIONS = 4
_AXIS = "flows.poisson.rate"
_SYSTEMS = {
    "md1": System(100_000_000, 1472, 1472, HEADER_BYTES["ipv4"], exponential=False, room=None),
    "mm1": System(400_000_000, 6000, 65_507, HEADER_BYTES["ipv4"], exponential=True, room=None),
}
"""The queues of the shipped scenarios of these names."""
_ROOM = 11
"""K of the shipped scenario mm1k: ten wait, and one is on the link."""
_SHORT = System(400_000_000, 6000, 65_507, HEADER_BYTES["ipv4"], exponential=True, room=_ROOM)
_SHORT_LOADS = (0.8, 0.95, 1.2)
_IDLE_LOAD = 0.5
_SHARED_LOADS = (0.5, 0.8, 0.9)
_SHARED = """\
name = "mg1-ps"
duration = "130s"
warmup = "20s"
seeds = 20
[nodes]
h1 = {}
r1 = { forward = true }
h2 = {}
[links.access]
ends = ["h1", "r1"]
rate = "1gbit"
[links.bottleneck]
ends = ["r1", "h2"]
rate = "20mbit"
delay = "100us"
queue = "fq limit 100000 flow_limit 10000 quantum 1514 initial_quantum 1514 orphan_mask 65535"
[flows.web]
from = "h1"
to = "h2"
tool = "open_loop"
arrivals = "poisson"
load = "50%"
size = "100kB lognormal 0.5"
duration = "110s"
[sweep]
"flows.web.load" = ["50%", "80%", "90%"]
"""
"""Transfers of some 70 packets, whose path holds two, over a link that sends a packet of each connection in turn."""
_NAMES = {"md1": "M/D/1", "mm1": "M/M/1"}
_SOURCES = {
    "md1": "L. Kleinrock, Queueing Systems I (1975), 5.6 (Pollaczek and Khinchine), service times constant",
    "mm1": "the same, service times exponential but cut at the largest packet of 65,507 bytes",
}


def family() -> Family:
    """The rows, one for each queue and load."""
    return Family("Queueing theory", (*_rows(), _losses(), _idle(), _sharing()))


def _rows() -> Iterator[Row]:
    for name, system in _SYSTEMS.items():
        experiment = Experiment(name)
        for load in _LOADS:
            yield Row(
                f"{name}-{load:g}",
                f"The mean time in the system of {_NAMES[name]} at a load of {load:g}.",
                _SOURCES[name],
                "ms",
                {_rate(system, load): system.means(load).sojourn},
                share(_DEVIATIONS * _deviation(load, system.service.mean), _why(load)),
                experiment,
                metric("flow", "poisson", "delay_ms_mean", _AXIS),
                size=Size.USUAL,
                phases="the delay of the wire, where the noise is, counts as time in the system",
            )


def _losses() -> Row:
    """The row of the loss in a short queue. At a load of 0.8 some 1,800 of 99,000 packets are lost in a run."""
    return Row(
        "mm1k-loss",
        f"The share of packets that M/M/1/{_ROOM} loses.",
        "L. Kleinrock, Queueing Systems I (1975), 3.6; M/G/1/K for the sizes that are sent",
        "%",
        {_rate(_SHORT, load): 100 * _SHORT.means(load).loss for load in _SHORT_LOADS},
        share(
            0.25,
            "losses come in bursts while the queue is full, of about 10 packets: of 180 bursts at the lowest load four "
            "standard deviations are 4 / √180 = 30 %, less what lengths of bursts have in common",
        ),
        Experiment("mm1k"),
        metric("flow", "poisson", "loss_pct", _AXIS),
        size=Size.USUAL,
    )


def _idle() -> Row:
    """The row of the packets that find the system empty: Poisson arrivals see time averages (PASTA)."""
    system = _SYSTEMS["md1"]
    packets = _MEASURED_MS * _IDLE_LOAD / system.service.mean
    correlated = 2 / (1 - sqrt(_IDLE_LOAD)) ** 2
    return Row(
        "md1-idle",
        "Of the packets of a Poisson source at a load of 0.5, half find nothing before them.",
        "R. W. Wolff: Poisson Arrivals See Time Averages, Operations Research 30 (1982): 1 − ρ",
        "share",
        {_rate(system, _IDLE_LOAD): 1 - _IDLE_LOAD},
        within(
            _DEVIATIONS * sqrt(_IDLE_LOAD * (1 - _IDLE_LOAD) * correlated / packets),
            f"{_DEVIATIONS} standard deviations of a share of {packets:,.0f} packets, which a queue correlates over "
            "1 / (1 − √ρ)² services",
        ),
        Experiment("md1"),
        by_axis(_AXIS, _undelayed),
        size=Size.USUAL,
    )


def _sharing() -> Row:
    """The row of the mean slowdown of transfers that share a link."""
    return Row(
        "mg1-ps",
        "The mean slowdown of transfers, each in its own queue of a link, at a load is 1 / (1 − load).",
        "L. Kleinrock, Queueing Systems II (1976), 4.4 (processor sharing), times the quotient of the slowdowns here "
        "and in an ideal server with the same arrivals",
        "×",
        {f"{100 * load:g}%": law(load) for load in _SHARED_LOADS},
        share(
            0.05,
            "a packet is a seventieth of a transfer: the link sends whole packets in turn, the first of a connection "
            "before those of others, after a round trip",
        ),
        Experiment("mg1-ps", _SHARED),
        by_axis("flows.web.load", _slowdown),
        explained=Range(
            0.06,
            0.05,
            "fq sends a packet that finds its connection's queue empty before those of others, which favours the "
            "youngest; with transfers of 300 kB, of which that is a smaller part, the quotient at a load of 50 % is "
            "0.979 instead of 0.967 (8 seeds)",
            relative=True,
        ),
        size=Size.COMPLETE,
    )


def _slowdown(run: RunDir) -> float | None:
    """The mean slowdown without the chance of the run's arrivals, which is a factor of the ideal server's as well."""
    found = slowdowns(run)
    label = axis_text(run.description.point["flows.web.load"])
    return found.measured / found.ideal * law(float(label.removesuffix("%")) / 100) if found else None


def _rate(system: System, load: float) -> str:
    return f"{round(load * system.link_bps / 1e6)}mbit"


def _undelayed(run: RunDir) -> float | None:
    """The share of the packets that left the queue at once."""
    packets = packets_at(run, "link:h1").drop_nulls("dequeue_ns")
    return float(str((packets["dequeue_ns"] == packets["enqueue_ns"]).mean())) if packets.height else None


def _deviation(load: float, service_ms: float) -> float:
    """The standard deviation of a mean over the measured time, as a share of it.

    The asymptotic variance of M/M/1's mean number in the system is 2 ρ (1 + ρ) / (1 − ρ)⁴ service times (W. Whitt:
    Planning Queueing Simulations, Management Science 35 (1989), equation 23). That of M/D/1 is smaller.
    """
    variance = 2 * load * (1 + load) / (1 - load) ** 4 * service_ms / _MEASURED_MS
    return sqrt(variance) * (1 - load) / load


def _why(load: float) -> str:
    return (
        f"a mean over {_MEASURED_MS // 1000} s varies: {_DEVIATIONS} standard deviations by Whitt's formula for M/M/1 "
        f"at {load:g}, an upper bound for M/D/1"
    )
