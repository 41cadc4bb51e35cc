"""Lines over an axis of numbers: a rate, a limit, a number of flows."""

from dataclasses import replace

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, NullLocator

from netwarp.plots import style
from netwarp.plots.charts.chart import (
    MAX_DOTS,
    Chart,
    beneath,
    labels_of,
    legend,
    legend_room_in,
    middle,
    panel,
    tall_enough,
    wants_log,
)
from netwarp.plots.labels import numbers_of
from netwarp.plots.legibility import STRIPED, coinciding, stripe
from netwarp.plots.timeseries.figure_spec import Curve, Variant

_HEIGHT_IN = 3.2
_MAX_TICKS = 12
_MARKERS = "osD^vPX"


def draw(chart: Chart) -> Figure:
    """A line for each series through the medians, every point with the spread of its runs.

    Lines that coincide are stripes with hollow markers of different sizes, and the subtitle says so.
    """
    groups = _coinciding(chart)
    if groups:
        chart = replace(chart, subtitle=f"{chart.subtitle} · {STRIPED}")
    figure, axes = panel(
        chart, tall_enough(_HEIGHT_IN, labels_of(chart), chart.series_label), 0.8, legend_room_in(chart), beneath(chart)
    )
    numbers = numbers_of(chart.xs)
    assert numbers is not None, "chosen for axes of numbers only"
    for place, (series, text, colour, dash) in enumerate(chart.looks):
        having = [
            (at, chart.cells[x, series])
            for at, x in zip(numbers.values, chart.xs, strict=True)
            if (x, series) in chart.cells
        ]
        line = _line(axes, having, text, (colour, dash, _MARKERS[place % len(_MARKERS)]))
        group = next((group for group in groups if place in group), None)
        if group is not None:
            at = group.index(place)
            line.set_linestyle(stripe(at, len(group)))
            line.set_fillstyle("none")
            line.set_markersize(4.5 + 3 * at)
    _scales(axes, chart, numbers.values, numbers.labels)
    axes.set_xlabel(f"{chart.axis_label}{numbers.words}")
    axes.set_ylabel(style.fitted(chart.value_label, style.points(10), style.tall(_HEIGHT_IN), 2))
    legend(chart, figure, axes)
    return figure


def _coinciding(chart: Chart) -> list[list[int]]:
    """Which series' medians would hide each other, by their places."""
    curves = []
    for series, text, colour, dash in chart.looks:
        having = [(at, chart.cells[x, series]) for at, x in enumerate(chart.xs) if (x, series) in chart.cells]
        times = np.array([float(at) for at, _ in having])
        curves.append(Variant(text, colour, dash, [Curve(times, np.array([middle(v)[0] for _, v in having]))]))
    return coinciding(curves, (0.0, len(chart.xs) - 1.0)) if len(chart.xs) > 1 else []


def _line(axes: Axes, points: list[tuple[float, tuple[float, ...]]], text: str, look: tuple[str, str, str]) -> Line2D:
    colour, dash, marker = look
    middles = [middle(values) for _, values in points]
    ats = [at for at, _ in points]
    medians = [median for median, _, _ in middles]
    (line,) = axes.plot(
        ats, medians, color=colour, linestyle=dash, marker=marker, markersize=4.5, linewidth=1.6, label=text
    )
    many = max(len(values) for _, values in points)
    if many > MAX_DOTS:
        lows, highs = [low for _, low, _ in middles], [high for _, _, high in middles]
        axes.fill_between(ats, lows, highs, color=colour, alpha=0.16, linewidth=0)
    elif many > 1:
        for at, values in points:
            axes.plot([at] * len(values), values, "o", color=colour, markersize=2.6, alpha=0.45)
    return line


def _scales(axes: Axes, chart: Chart, ats: list[float], labels: list[str]) -> None:
    """Log where the range demands it; ticks at the values themselves, named as the scenario writes them."""
    if wants_log(ats):
        axes.set_xscale("log")
        style.log_ticks(axes.xaxis)
        axes.xaxis.set_minor_locator(NullLocator())
        axes.margins(x=0.04)
    else:
        low, high = min(0.0, *ats), max(ats)
        axes.set_xlim(low, high + (high - low) * 0.04)
    if len(ats) <= _MAX_TICKS:
        shown = _apart(axes, ats)
        axes.xaxis.set_major_locator(FixedLocator([ats[number] for number in shown]))
        axes.set_xticklabels([labels[number] for number in shown])
    every = [value for values in chart.cells.values() for value in values]
    if wants_log(every):
        axes.set_yscale("log")
        style.log_ticks(axes.yaxis)
    else:
        axes.set_ylim(min(0.0, *every), max(every) * 1.06 or 1)


def _apart(axes: Axes, ats: list[float]) -> list[int]:
    """Which ticks can be named without their names running into each other: a 25th of the width apart."""
    places = axes.transAxes.inverted().transform(axes.transData.transform([(at, 1.0) for at in ats]))[:, 0]
    shown: list[int] = []
    for number in sorted(range(len(ats)), key=lambda number: ats[number]):
        if not shown or places[number] - places[shown[-1]] >= style.TICK_ROOM * style.wider():
            shown.append(number)
    return shown
