"""The rows of RED's law for `netwarp verify`: its drops, packet by packet and in all."""

from __future__ import annotations

from netwarp.store.rundir import RunDir
from netwarp.studies.red_law.analysis import UNLIKELY, arrivals_of
from netwarp.verify.measures import by_axis, metric
from netwarp.verify.row import Experiment, Family, Row, Size, within

_RATE = "flows.poisson.rate"
_LINK_MBPS = 100
_RATES_MBPS = (90, 100, 105, 110, 115, 120, 140)
_OVERLOADS_MBPS = (110, 115, 120, 140)
_EXPERIMENT = Experiment("red-law")
_LAW = "S. Floyd, V. Jacobson: Random Early Detection Gateways for Congestion Avoidance, IEEE/ACM ToN 1(4), 1993"


def family() -> Family:
    """The rows."""
    rates = [f"{mbps}mbit" for mbps in _RATES_MBPS]
    return Family(
        "RED",
        (
            Row(
                "red-ends",
                "No packet is dropped while the average is below min, and every one beyond max.",
                f"{_LAW}, section III; the average by the kernel's arithmetic, include/net/red.h",
                "packets against it",
                dict.fromkeys(rates, 0.0),
                within(0, "the law knows no exception"),
                _EXPERIMENT,
                by_axis(_RATE, _against),
                size=Size.USUAL,
            ),
            Row(
                "red-probability",
                "Between min and max packets are dropped with the probability that the law gives each.",
                f"{_LAW}, section IV; red_mark_probability() in include/net/red.h",
                "standard deviations between dropped and likely packets",
                dict.fromkeys(rates, 0.0),
                within(UNLIKELY, "one in 16,000 normal values is beyond four standard deviations"),
                _EXPERIMENT,
                by_axis(_RATE, _deviations),
                size=Size.USUAL,
            ),
            Row(
                "red-overload",
                "Of a load ρ that does not respond RED drops 1 − 1/ρ.",
                "arithmetic: the link sends no more than its rate",
                "%",
                {f"{mbps}mbit": 100 * (1 - _LINK_MBPS / mbps) for mbps in _OVERLOADS_MBPS},
                within(1.2, "of 90,000 Poisson arrivals, √90,000 = 300 more or less are 0.3 points; four times that"),
                _EXPERIMENT,
                metric("flow", "poisson", "loss_pct", _RATE),
                size=Size.USUAL,
            ),
        ),
    )


def _against(run: RunDir) -> float:
    _, found = arrivals_of(run, "")
    return float((found.dropped & (found.likely == 0) | ~found.dropped & (found.likely == 1)).sum())


def _deviations(run: RunDir) -> float:
    _, found = arrivals_of(run, "")
    deviation = float((found.likely * (1 - found.likely)).sum()) ** 0.5
    return float(found.dropped.sum() - found.likely.sum()) / deviation if deviation else 0.0
