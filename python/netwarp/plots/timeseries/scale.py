"""The choice between a linear and a logarithmic axis for a figure's values, and its ticks."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from netwarp.plots.look import current
from netwarp.plots.timeseries.figure_spec import Curve, FigureSpec, Values

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LOG_FROM = 30
"""The ratio of values (1.5 decades) from which a linear axis would hide the small ones."""
_STEPS = [1, 2, 2.5, 5, 10]
_ROOM = 1.06
_ZERO_SHARE = 0.35
_MANY = 1000
_PHASE = 5
_LARGE = 100_000
"""The value from which ticks' names have a prefix (1M): a factor above the axis would overlap the heading."""


def set_scale(axes: "Axes", spec: FigureSpec, *, ticks: int) -> None:
    """Set scale, limits and about `ticks` ticks of the y axis, for all curves of the figure in its window."""
    # Imported lazily: kinds of figures ask `shows_log`, and so does the page without figures.
    from matplotlib.ticker import EngFormatter, FixedLocator, MaxNLocator, NullLocator  # noqa: PLC0415

    values = _values(spec)
    held = np.concatenate([some for some in values if len(some)] or [np.zeros(1)])
    if not shows_log(spec):
        low = float(held.min())
        axes.set_ylim(min(low * _ROOM, 0.0), max(float(held.max()), 0.0) * _ROOM or 1)
        axes.yaxis.set_major_locator(MaxNLocator(ticks, steps=_STEPS))
        if float(np.abs(held).max()) >= _LARGE:
            axes.yaxis.set_major_formatter(EngFormatter(sep=""))
        return
    low, high = _least(values), float(held.max())
    if held.min() > 0:
        low = float(held.min())  # even if it holds for a short time: a reader would not notice a cut
        axes.set_yscale("log")
        axes.set_ylim(low / 1.15, high * 1.25)
    else:
        # Zeros are at the foot; the axis is logarithmic from the smallest ordinary value on.
        low = 10 ** np.floor(np.log10(low))
        axes.set_yscale("symlog", linthresh=low, linscale=_ZERO_SHARE)
        axes.set_ylim(0, high * 1.25)
    places = log_ticks(low / 1.15, high * 1.25, ticks)
    if held.min() <= 0:
        # Over many decades, and in a narrow figure, the foot is low: the name of its upper end would overlap that of 0.
        crowded = (high / low > _MANY or current().narrow) and len(places) > 1
        places = [0, *places[1:]] if crowded else [0, *places]
    axes.yaxis.set_major_locator(FixedLocator(places))
    axes.yaxis.set_major_formatter(EngFormatter(sep="") if high >= _LARGE else "{x:g}")
    # Minor ticks would take longer to draw than the rest of a panel.
    axes.yaxis.set_minor_locator(NullLocator())


def y_places(spec: FigureSpec) -> tuple[Callable[[Values], Values], tuple[float, float]]:
    """The positions of values on the figure's y axis: a function to a scale that is linear on it, and the axis' ends.

    The limits are those of `set_scale`.
    """
    values = _values(spec)
    held = np.concatenate([some for some in values if len(some)] or [np.zeros(1)])
    if not shows_log(spec):
        low, high = float(held.min()), float(held.max())
        return np.asarray, (min(low * _ROOM, 0.0), max(high, 0.0) * _ROOM or 1)
    least = float(held.min()) if held.min() > 0 else 10 ** np.floor(np.log10(_least(values)))
    foot = 0.0 if held.min() > 0 else _ZERO_SHARE

    def placed(some: Values) -> Values:
        above = np.log10(np.maximum(some, least) / least) + foot
        return np.where(some < least, some / least * foot, above)

    low = float(np.log10(1 / 1.15)) if held.min() > 0 else 0.0
    return placed, (low, float(np.log10(float(held.max()) * 1.25 / least)) + foot)


def shows_log(spec: FigureSpec) -> bool:
    """Whether the figure is drawn on a logarithmic axis."""
    values = _values(spec)
    if not any((some > 0).any() for some in values) or any((some < 0).any() for some in values):
        return False
    chosen = wants_log(values, empties=spec.quantity.empties) or _spans_rates(spec)
    return spec.log or (not spec.linear and chosen)


def _spans_rates(spec: FigureSpec) -> bool:
    """Whether its link has phases with rates 1.5 decades apart, of which a linear axis would show the lower as 0.

    A phase lasts for several intervals, so that a trace, whose rate falls only for a moment, has none.
    """
    if not spec.quantity.interval_s:
        return False
    least_s, (begin, end) = _PHASE * spec.quantity.interval_s, spec.window
    for schedule in spec.limiting:
        until = [at for at, _ in schedule.steps[1:]] + [end]
        spans = [(max(at, begin), min(to, end), rate) for (at, rate), to in zip(schedule.steps, until, strict=True)]
        rates = [rate for at, to, rate in spans if to - at >= least_s and rate > 0]
        if rates and max(rates) / min(rates) > LOG_FROM:
            return True
    return False


def _values(spec: FigureSpec) -> list[Values]:
    """All finite values that are drawn, by curve."""
    variants = [variant for panel in spec.shown_alone for variant in panel.variants]
    values = [_within(curve, spec.window) for variant in variants for curve in variant.curves]
    for band in (band for variant in variants for band in variant.bands):
        values += [_within(Curve(band.times, edge), spec.window) for edge in (band.lows, band.highs)]
    values += [np.array([rate for _, rate in steps.steps]) for steps in spec.limiting]
    return [some[np.isfinite(some)] for some in values]


def _within(curve: Curve, window: tuple[float, float]) -> Values:
    inside = (curve.times >= window[0]) & (curve.times <= window[1])
    return curve.values[inside] if inside.any() else curve.values[:0]


def wants_log(curves: Sequence[Values], *, empties: bool = False) -> bool:
    """Whether the ordinary values of the curves (5th to 95th percentiles) are more than 1.5 decades apart.

    A curve that is often 0, as for an empty queue, counts only by its high values; so do all curves if `empties`.
    """
    levels = [np.percentile(values, [5, 95]) for values in curves if len(values)]
    lows = [low if low > 0 and not empties else high for low, high in levels if high > 0]
    return bool(lows) and max(high for _, high in levels) / min(lows) > LOG_FROM


def log_ticks(low: float, high: float, most: int) -> list[float]:
    """1, 2, 5, 10 … between two values; only decades, or each second one, if these would be too many."""
    decades = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    for factors in ((1, 2, 5), (1, 3), (1,)):
        places = [factor * 10.0**decade for decade in decades for factor in factors]
        inside = [place for place in places if low <= place <= high]
        if len(inside) <= most * 2:
            return inside
    return inside[::2]


def _least(values: Sequence[Values]) -> float:
    """The smallest ordinary value: the lowest 1st percentile of the positive values of each curve."""
    return min(float(np.percentile(some[some > 0], 1)) for some in values if (some > 0).any())
