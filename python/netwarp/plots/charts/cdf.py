"""Cumulative distributions: the share of the time, of the packets or of the runs with at most a value."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from netwarp.plots import style
from netwarp.plots.charts.chart import LEGEND_CHARS, LOG_FROM, Chart, in_front, panel, room_in, tall_enough
from netwarp.plots.colours import DASHES
from netwarp.plots.labels import wrapped
from netwarp.plots.legibility import IN_TURNS, MAX_ORDERED
from netwarp.plots.look import current
from netwarp.plots.timeseries.figure_spec import Curve, Dash
from netwarp.stats.weighting import TimeWeighted, Values, cumulative, weighted_percentiles

_HEIGHT_IN = 3.2


_SQUEEZED = 4
"""If the highest values are this many times the 90th percentile, a linear axis would squeeze all others."""
_DECADES = 1e-5
"""The least part of the highest value at which a logarithmic axis begins if some values are 0."""


def _looks(chart: Chart, keys: Sequence[tuple[Any, tuple[Any, ...]]]) -> list[tuple[str, Dash]]:
    """Colours and dashes of the curves; over two axes, a colour for each series and dashes for the first axis."""
    if len(chart.looks) < 2:
        return [chart.x_looks[chart.xs.index(x)] for x, _ in keys]
    of_series = {look.key: look for look in chart.looks}
    dashed = 1 < len(chart.xs) <= len(DASHES)
    return [
        (of_series[series].colour, DASHES[chart.xs.index(x)] if dashed else of_series[series].dash)
        for x, series in keys
    ]


def draw(chart: Chart) -> Figure:
    """Draw a curve for each combination of values."""
    keys = [(x, series) for x in chart.xs for series in chart.series if (x, series) in chart.spread]
    if len(keys) > MAX_ORDERED:
        out = f"{MAX_ORDERED} of {len(keys)} curves, the others: --only VALUE"
        chart = replace(chart, left_out=[*chart.left_out, out])
        keys = keys[:MAX_ORDERED]
    of_series = {look.key: look.text for look in chart.looks}
    texts = [
        ", ".join(text for text in (chart.x_texts[chart.xs.index(x)], of_series[series]) if text) for x, series in keys
    ]
    # A duration that had not ended has no place on the axis.
    texts = [
        text if np.isfinite(chart.spread[key].values).any() else f"{text} (none complete)"
        for text, key in zip(texts, keys, strict=True)
    ]
    title = ", ".join(label for label in (chart.axis_label, chart.series_label) if label)
    labels = [wrapped(text, LEGEND_CHARS) for text in texts] if len(keys) > 1 else []
    narrow = current().narrow
    curves = [_rising(*cumulative(chart.spread[key])) for key in keys]
    limits, log = _limits([chart.spread[key] for key in keys])
    if log:  # values left of the axis, such as 0, count at its left end
        curves = [replace(curve, times=np.maximum(curve.times, limits[0] / 10)) for curve in curves]
    pieces, together = in_front(curves, (*limits, log), (0.0, 1.01, False), steps=True)
    if log and any((chart.spread[key].values == 0).any() for key in keys):
        chart = replace(chart, subtitle=f"{chart.subtitle} · 0 is left of the axis")
    if together:
        chart = replace(chart, subtitle=f"{chart.subtitle} · {IN_TURNS}")
    figure, axes = panel(
        chart, tall_enough(_HEIGHT_IN, labels, title), 0.8, room_in(labels, title), labels if narrow else ()
    )
    for text, (colour, dash), curve, front in zip(texts, _looks(chart, keys), curves, pieces, strict=True):
        look: dict[str, Any] = {"color": colour, "linestyle": dash, "linewidth": 1.6, "drawstyle": "steps-post"}
        axes.plot(curve.times, curve.values, label=wrapped(text, LEGEND_CHARS), **look)
        for piece in front:
            axes.plot(piece.times, piece.values, label=f"_{wrapped(text, LEGEND_CHARS)}", zorder=2.5, **look)
    axes.set_ylim(0, 1.01)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.set_xlim(*limits)
    if log:
        axes.set_xscale("log")
        axes.set_xlim(*limits)
        style.log_ticks(axes.xaxis)
    else:
        axes.ticklabel_format(axis="x", useOffset=False)
        axes.xaxis.set_major_locator(MaxNLocator(5 if narrow else 9))
    axes.set_xlabel(chart.value_label)
    axes.set_ylabel("share at or below")
    if labels and narrow:
        handles = axes.get_legend_handles_labels()[0]
        style.legend_below(figure, handles, 0.1 / style.width_in(), 0.04, style.width_in() - 0.2)
    elif labels:
        box = axes.get_position()
        style.legend_outside(figure, axes, wrapped(title, LEGEND_CHARS), (box.x1 + 0.015, box.y1))
    return figure


def _rising(values: Values, shares: Values) -> Curve:
    """The steps from 0 to the share of the first value and on."""
    return Curve(np.concatenate([values[:1], values]), np.concatenate([np.zeros(len(values[:1])), shares]))


def _limits(spreads: Sequence[TimeWeighted]) -> tuple[tuple[float, float], bool]:
    """The ends of the axis, and whether it is logarithmic."""
    ends = [found for spread in spreads if (found := weighted_percentiles(spread, (1, 90, 99.9))) is not None]
    # Of durations that did not end there is only a lower bound: their share has no place on the axis.
    known = [spread.values[np.isfinite(spread.values)] for spread in spreads if len(spread.values)]
    lasts = [float(values.max(initial=0.0)) for values in known]
    low = min((one[0] for one in ends if np.isfinite(one[0])), default=0.0)
    high = max(last if np.isinf(end[2]) else min(end[2], last) for end, last in zip(ends, lasts, strict=True))
    usual = max(min(one[1], last) for one, last in zip(ends, lasts, strict=True))
    squeezed = high > _SQUEEZED * usual
    if low > 0 and (high / low > LOG_FROM or (squeezed and high > 2 * low)):
        return (low * 0.9, high * 1.1), True
    if low == 0 and squeezed and (least := _least_above_0(spreads)) is not None:
        return (max(least * 0.9, high * _DECADES), high * 1.1), True
    return _linear(low, high), False


def _least_above_0(spreads: Sequence[TimeWeighted]) -> float | None:
    """The least percentile of any curve that is above 0, such as the time in a queue of those packets that wait."""
    found = [weighted_percentiles(spread, tuple(range(1, 100))) for spread in spreads]
    return min(
        (value for values in found if values is not None for value in values if 0 < value < np.inf), default=None
    )


def _linear(low: float, high: float) -> tuple[float, float]:
    """The ends of a linear axis: from 0, unless the values are close together and far from 0.

    They are never so close that a difference of a per mille looks large.
    """
    if low > 0 and low > high / 2:
        room = max(0.08 * (high - low), 0.01 * high)
        return low - room, high + room
    room = 0.04 * (high - min(low, 0.0))
    return min(low - room, 0.0) if low < 0 else 0.0, max(high, 0.0) + room or 1
