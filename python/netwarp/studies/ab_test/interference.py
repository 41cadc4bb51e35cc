"""Interference between arms: flows of both share links, so that treating some affects the others.

An experiment estimates the effect of treating all by the difference between its arms. That is right only if what a flow
gets does not depend on the arms of others (the stable unit treatment value assumption; D. B. Rubin: JASA 75, 1980). On
a congested link it does depend, and the difference may even have the wrong sign (B. Spang, V. Hannan, S. Kunamalla,
T.-Y. Huang, N. McKeown, R. Johari: Unbiased Experiments in Congested Networks, IMC 2021). In virtual time both can be
measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from netwarp.stats.intervals import Interval, mean_interval
from netwarp.store.errors import StoreError
from netwarp.store.result import ResultDir
from netwarp.store.run_status import RunStatus
from netwarp.store.summary import axis_text, axis_title
from netwarp.studies.ab_test.needs import ALL, CONTROL, MIXTURES, NONE, TREATED, share_of


@dataclass(frozen=True)
class Quantity:
    """A metric of a group of flows; `each` if it is the group's sum, of which a flow has a part."""

    title: str
    unit: str
    each: bool = False


QUANTITIES: Mapping[str, Quantity] = {
    "goodput_mbps": Quantity("goodput of a flow", "Mbit/s", each=True),
    "srtt_ms_mean": Quantity("smoothed RTT, mean", "ms"),
    "retransmits": Quantity("retransmits of a flow", "segments", each=True),
}


@dataclass(frozen=True)
class Effects:
    """A metric at a point of the other axes: the means of each group by share, the difference within each mixture, and
    the effect of treating all against none. `error` is the difference at the share closest to a half less that effect,
    of `seeds` runs each.
    """

    place: str
    metric: str
    means: Mapping[str, Mapping[float, float]]
    within: Mapping[float, Interval]
    total: Interval
    error: Interval
    seeds: int

    @property
    def half(self) -> float:
        """The share closest to a half."""
        return _half(self.within)

    @property
    def verdict(self) -> str:
        """Whether the difference at a half predicts the effect of treating all."""
        if self.error.low is None:
            return "not known from one run"
        ab = self.within[self.half]
        if _excludes_zero(ab) and _excludes_zero(self.total) and (ab.mean > 0) != (self.total.mean > 0):
            return "the wrong sign"
        if not _excludes_zero(self.error):
            return "no contradiction"
        return "too large" if abs(ab.mean) > abs(self.total.mean) else "too small"


def effects_of(result: ResultDir) -> list[Effects]:
    """The effects at each point of the other axes. Raises StoreError if the runs are not mixtures of two groups."""
    shares = {run.id: _share(result, run.id) for run in result.good}
    places = {run.id: _place(run.point) for run in result.good}
    rows = result.summary().filter(pl.col("status") == RunStatus.OK, scope="flow").drop_nulls("value")
    columns = ("run_id", "seed", "name", "metric", "value")
    found: dict[tuple[str, str], _Values] = {}
    for run_id, seed, name, metric, value in rows.select(columns).iter_rows():
        quantity = QUANTITIES.get(metric)
        if quantity is None or name not in (CONTROL, TREATED):
            continue
        share, flows = shares[run_id]
        count = flows * (share if name == TREATED else 1 - share)
        each = value / count if quantity.each else value
        found.setdefault((places[run_id], metric), {}).setdefault((name, share), {})[seed] = each
    order = {metric: at for at, metric in enumerate(QUANTITIES)}
    made = [_effects(place, metric, values) for (place, metric), values in found.items()]
    effects = sorted((one for one in made if one), key=lambda one: order[one.metric])
    if not effects:
        raise StoreError(MIXTURES)
    return effects


_Values = dict[tuple[str, float], dict[int, float]]
"""(group, share) → seed → value."""


def _share(result: ResultDir, run: str) -> tuple[float, int]:
    """The share of treated flows among those of both groups, and the number of these."""
    groups = [flow.group for flow in result.run(run).description.flows]
    treated, control = groups.count(TREATED), groups.count(CONTROL)
    return share_of(treated, control), treated + control


def _place(point: Mapping[str, object]) -> str:
    rest = {axis: value for axis, value in point.items() if axis != "case"}
    return ", ".join(f"{axis_title(axis)} {axis_text(value)}" for axis, value in rest.items())


def _effects(place: str, metric: str, values: _Values) -> Effects | None:
    """The effects of a metric; None without runs of all, none, and a mixture with the same seeds."""
    total = _paired(values.get((TREATED, ALL)), values.get((CONTROL, NONE)))
    mixed = sorted({share for _, share in values if NONE < share < ALL})
    differences = {share: _paired(values.get((TREATED, share)), values.get((CONTROL, share))) for share in mixed}
    differences = {share: found for share, found in differences.items() if found}
    if not total or not differences:
        return None
    errors = _paired(differences[_half(differences)], total)
    if not errors:
        return None
    means = {
        name: {
            share: sum(seeds.values()) / len(seeds) for (group, share), seeds in sorted(values.items()) if group == name
        }
        for name in (CONTROL, TREATED)
    }
    within = {share: mean_interval(list(found.values())) for share, found in differences.items()}
    total_interval, error = (mean_interval(list(one.values())) for one in (total, errors))
    return Effects(place, metric, means, within, total_interval, error, len(errors))


def _paired(a: Mapping[int, float] | None, b: Mapping[int, float] | None) -> dict[int, float]:
    """The difference a − b of each seed that both have."""
    return {seed: value - b[seed] for seed, value in (a or {}).items() if seed in b} if b else {}


def _half(shares: Mapping[float, object]) -> float:
    return min(shares, key=lambda share: abs(share - 0.5))


def _excludes_zero(interval: Interval) -> bool:
    return interval.low is not None and not interval.holds(0.0)


def sentences(effects: Sequence[Effects]) -> Iterator[str]:
    """A line for each effect: the difference within the mixture, the effect of all, and whether one predicts the
    other."""
    for one in effects:
        quantity = QUANTITIES[one.metric]
        where = f" ({one.place})" if one.place else ""
        yield (
            f"{quantity.title}{where}: at {100 * one.half:.0f} % the arms differ by {_text(one.within[one.half])} "
            f"{quantity.unit}; all against none is {_text(one.total)} {quantity.unit}: {one.verdict}"
        )


def _text(interval: Interval) -> str:
    if interval.low is None or interval.high is None:
        return f"{interval.mean:+.3g}"
    return f"{interval.mean:+.3g} [{interval.low:.3g}, {interval.high:.3g}]"
