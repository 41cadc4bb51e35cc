"""Cumulative distributions: which share of the time, of the packets or of the runs had at most that value."""

from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from netwarp.analysis.run.distribution import cumulative
from netwarp.plots import style
from netwarp.plots.charts.chart import LEGEND_CHARS, LOG_FROM, Chart, panel, series_text
from netwarp.plots.labels import is_ordered, wrapped
from netwarp.stats.weighting import weighted_percentiles

_HEIGHT_IN = 4.6


def _looks(chart: Chart, keys: list[tuple[Any, tuple[Any, ...]]], ordered: bool) -> tuple[list[str], list[str]]:
    """Colours and dashes of the curves; over two axes, a colour for each series and dashes for the first axis."""
    xs, count = list(chart.xs), len(keys)
    if len(chart.series) < 2 or not 1 < len(xs) <= len(style.DASHES):
        return style.colours(count, ordered), style.dashes(count, ordered)
    colour_of = {series: colour for series, _, colour, _ in chart.looks}
    return [colour_of[series] for _, series in keys], [style.DASHES[xs.index(x)] for x, _ in keys]


def draw(chart: Chart) -> Figure:
    """A curve for each combination of values."""
    keys = [(x, series) for x in chart.xs for series in chart.series if (x, series) in chart.spread]
    texts = [series_text((x, *series)) for x, series in keys]
    ordered = is_ordered(texts)
    title = ", ".join(label for label in (chart.axis_label, chart.series_label) if label)
    lines = [line for text in [*texts, title] for line in wrapped(text, LEGEND_CHARS).split("\n")]
    figure, axes = panel(chart, _HEIGHT_IN, 0.8, 0.75 + 0.085 * max(map(len, lines)) if len(keys) > 1 else 0.3)
    shades, dashes = _looks(chart, keys, ordered)
    low, high = float("inf"), float("-inf")
    for key, text, colour, dash in zip(keys, texts, shades, dashes, strict=True):
        values, shares = cumulative(chart.spread[key])
        label = wrapped(text, LEGEND_CHARS)
        axes.plot(values, shares, color=colour, linestyle=dash, drawstyle="steps-post", linewidth=1.6, label=label)
        ends = weighted_percentiles(chart.spread[key], (1, 99.9)) or [low, high]
        last = float(values[-1]) if len(values) else high
        low, high = min(low, ends[0]), max(high, min(ends[1], last))
    axes.set_ylim(0, 1.01)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    if low > 0 and high / low > LOG_FROM:
        axes.set_xscale("log")
        style.log_ticks(axes.xaxis)
        axes.set_xlim(low * 0.9, high * 1.1)
    else:
        axes.set_xlim(*_limits(low, high))
        axes.ticklabel_format(axis="x", useOffset=False)
    axes.set_xlabel(chart.value_label)
    axes.set_ylabel("share at or below")
    if len(keys) > 1:
        box = axes.get_position()
        style.legend_outside(figure, axes, wrapped(title, LEGEND_CHARS), (box.x1 + 0.015, box.y1))
    return figure


def _limits(low: float, high: float) -> tuple[float, float]:
    """From 0, but where the values lie far from it and close together; never so near that a per mille looks large."""
    if low > 0 and low > high / 2:
        room = max(0.08 * (high - low), 0.01 * high)
        return low - room, high + room
    room = 0.04 * (high - min(low, 0.0))
    return min(low - room, 0.0) if low < 0 else 0.0, max(high, 0.0) + room or 1
