"""Many runs that differ only in their seed, over time: their median, and the bands of most of them."""

from collections.abc import Sequence

import numpy as np

from netwarp.plots.timeseries.figure_spec import Band, Curve, Quantity, Values

SPANS = 200
"""The number of equal spans of time in which a state or samples are averaged."""
BANDS = (("90 % of the {}", 5, 95), ("middle half", 25, 75))


def span_s(quantity: Quantity, duration_s: float) -> float:
    """The length of the spans in which a run is averaged; a quantity that is counted in intervals keeps these."""
    return quantity.interval_s or duration_s / SPANS


def averaged(quantity: Quantity, curve: Curve, duration_s: float) -> Curve:
    """The time-weighted mean of each span, NaN if it has no known value; `times` of the result are the spans' middles.

    `curve` must have all samples. Each holds until the next, as in the metrics. The last one of a flow is its end; that
    of other curves holds to the run's end. A quantity that is counted in intervals stays as it is.
    """
    count = max(round(duration_s / span_s(quantity, duration_s)), 1)
    edges = np.linspace(0, duration_s, count + 1)
    middles = (edges[:-1] + edges[1:]) / 2
    if quantity.interval_s:
        return Curve(middles, _of_intervals(curve, edges))
    end_s = curve.times[-1] if quantity.group else duration_s
    return Curve(middles, _of_state(curve, edges, float(end_s)))


def together(curves: Sequence[Curve]) -> Curve:
    """The mean of curves over the same spans, without missing values."""
    values = np.stack([curve.values for curve in curves])
    known = np.isfinite(values)
    sums = np.where(known, values, 0).sum(axis=0)
    return Curve(curves[0].times, _divided(sums, known.sum(axis=0).astype(np.float64)))


def across(curves: Sequence[Curve], of: str = "runs", least: float = 0.5) -> tuple[Curve, list[Band]]:
    """The median of curves over the same spans, and their bands; NaN if fewer than `least` of them have a value.

    `of` names what they are curves of.
    """
    values = np.stack([curve.values for curve in curves])
    known = np.isfinite(values).sum(axis=0)
    enough = (known > 0) & (known >= least * len(curves))
    times = curves[0].times
    percents = [50.0, *(percent for _, *ends in BANDS for percent in ends)]
    found = np.full((len(percents), len(times)), np.nan)
    found[:, enough] = np.nanpercentile(values[:, enough], percents, axis=0)
    bands = [
        Band(label.format(of), times, found[2 * at + 1], found[2 * at + 2]) for at, (label, *_) in enumerate(BANDS)
    ]
    return Curve(times, found[0]), bands


def _of_state(curve: Curve, edges: Values, end_s: float) -> Values:
    """The integral over the known part of each span, divided by its length; a gap is a NaN value that holds."""
    ends = np.append(curve.times[1:], max(end_s, curve.times[-1]))
    known = np.isfinite(curve.values)
    lengths = np.where(known, ends - curve.times, 0)
    at = np.append(curve.times, ends[-1])
    sums = _grown(at, np.where(known, curve.values, 0) * lengths, edges)
    return _divided(sums, _grown(at, lengths, edges))


def _grown(at: Values, steps: Values, edges: Values) -> Values:
    """The growth in each span of a sum that grows evenly by each step between two instants."""
    total = np.concatenate([[0.0], np.cumsum(steps)])
    return np.asarray(np.diff(np.interp(edges, at, total)), dtype=np.float64)


def _of_intervals(curve: Curve, edges: Values) -> Values:
    known = np.isfinite(curve.values)
    place = np.clip(np.searchsorted(edges, curve.times[known], side="right") - 1, 0, len(edges) - 2)
    counts = np.bincount(place, minlength=len(edges) - 1).astype(np.float64)
    sums = np.bincount(place, weights=curve.values[known], minlength=len(edges) - 1).astype(np.float64)
    return _divided(sums, counts)


def _divided(sums: Values, by: Values) -> Values:
    """The quotients; NaN if the divisor is 0."""
    quotients: Values = np.divide(sums, by, out=np.full(len(sums), np.nan), where=by > 0)
    return quotients
