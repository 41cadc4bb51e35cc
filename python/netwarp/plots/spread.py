"""Many runs that differ in nothing but their seed, over time: their median, and the bands that most of them lie in."""

from collections.abc import Sequence

import numpy as np

from netwarp.plots.scene import Band, Curve, Quantity, Values

SPANS = 200
"""Into how many equal spans of time a state or samples are averaged."""
BANDS = (("90 % of the runs", 5, 95), ("middle half", 25, 75))


def span_s(quantity: Quantity, duration_s: float) -> float:
    """The length of the spans that a run of this length is averaged in; what is counted in intervals keeps those."""
    return quantity.interval_s or duration_s / SPANS


def averaged(quantity: Quantity, curve: Curve, duration_s: float) -> Curve:
    """The mean of each span over its time (of a state) or its samples; NaN in spans without any.

    `curve` has all samples, none left out; times of the result are the middles of the spans.
    """
    count = max(round(duration_s / span_s(quantity, duration_s)), 1)
    edges = np.linspace(0, duration_s, count + 1)
    middles = (edges[:-1] + edges[1:]) / 2
    mean = _of_state if quantity.steps else _of_samples
    return Curve(middles, mean(curve.times, curve.values, edges))


def across(curves: Sequence[Curve]) -> tuple[Curve, list[Band]]:
    """The median of curves over the same spans, and their bands; NaN where fewer than half of them have a value."""
    values = np.stack([curve.values for curve in curves])
    enough = 2 * np.isfinite(values).sum(axis=0) >= len(curves)
    times = curves[0].times
    percents = [50.0, *(percent for _, *ends in BANDS for percent in ends)]
    found = np.full((len(percents), len(times)), np.nan)
    found[:, enough] = np.nanpercentile(values[:, enough], percents, axis=0)
    bands = [Band(label, times, found[2 * at + 1], found[2 * at + 2]) for at, (label, *_) in enumerate(BANDS)]
    return Curve(times, found[0]), bands


def _of_state(times: Values, values: Values, edges: Values) -> Values:
    """The integral over each span divided by its length; the last value holds to the end."""
    ends = np.append(times[1:], max(edges[-1], times[-1]))
    total = np.concatenate([[0.0], np.cumsum(values * (ends - times))])
    reached = np.interp(edges, np.append(times, ends[-1]), total)
    means = np.asarray(np.diff(reached) / np.diff(edges), dtype=np.float64)
    means[edges[:-1] < times[0]] = np.nan
    return means


def _of_samples(times: Values, values: Values, edges: Values) -> Values:
    known = np.isfinite(values)
    place = np.clip(np.searchsorted(edges, times[known], side="right") - 1, 0, len(edges) - 2)
    counts = np.bincount(place, minlength=len(edges) - 1)
    sums = np.bincount(place, weights=values[known], minlength=len(edges) - 1)
    means: Values = np.divide(sums, counts, out=np.full(len(counts), np.nan), where=counts > 0)
    return means
