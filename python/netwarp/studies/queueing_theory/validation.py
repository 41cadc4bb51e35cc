"""The rows of queueing theory for `netwarp verify`: the mean time in the system at several loads of two queues."""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt

from netwarp.studies.queueing_theory.system import HEADER_BYTES, System
from netwarp.verify.measures import metric
from netwarp.verify.row import Experiment, Family, Row, Size, share

_LOADS = (0.1, 0.3, 0.5, 0.7, 0.8, 0.9)
_MEASURED_MS = 12_000
"""The scenarios last 13 s, the first of which is left out."""
_DEVIATIONS = 4
_SYSTEMS = {
    "md1": System(100_000_000, 1472, 1472, HEADER_BYTES["ipv4"], exponential=False, room=None),
    "mm1": System(400_000_000, 6000, 65_507, HEADER_BYTES["ipv4"], exponential=True, room=None),
}
"""The queues of the shipped scenarios of these names."""
_NAMES = {"md1": "M/D/1", "mm1": "M/M/1"}
_SOURCES = {
    "md1": "L. Kleinrock, Queueing Systems I (1975), 5.6 (Pollaczek and Khinchine), service times constant",
    "mm1": "the same, service times exponential but cut at the largest packet of 65,507 bytes",
}


def family() -> Family:
    """The rows, one for each queue and load."""
    return Family("Queueing theory", tuple(_rows()))


def _rows() -> Iterator[Row]:
    for name, system in _SYSTEMS.items():
        experiment = Experiment(name)
        for load in _LOADS:
            rate = f"{round(load * system.link_bps / 1e6)}mbit"
            yield Row(
                f"{name}-{load:g}",
                f"The mean time in the system of {_NAMES[name]} at a load of {load:g}.",
                _SOURCES[name],
                "ms",
                {rate: system.means(load).sojourn},
                share(_DEVIATIONS * _deviation(load, system.service.mean), _why(load)),
                experiment,
                metric("flow", "poisson", "delay_ms_mean", "flows.poisson.rate"),
                size=Size.USUAL,
            )


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
