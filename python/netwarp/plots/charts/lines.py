"""Lines over a numeric axis: a rate, a limit, a number of flows."""

from collections.abc import Sequence
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
    below,
    in_front,
    labels_of,
    legend,
    legend_room_in,
    middle,
    panel,
    tall_enough,
    wants_log,
)
from netwarp.plots.labels import numbers_of
from netwarp.plots.legibility import IN_TURNS
from netwarp.plots.timeseries.figure_spec import Curve, Dash

_HEIGHT_IN = 3.2
_MAX_TICKS = 12
_MARKERS = "osD^vPX"


def draw(chart: Chart) -> Figure:
    """Draw a line for each series through the medians, each point with the spread of its runs.

    Lines that coincide are in front in turn, with hollow markers of different sizes, and the subtitle says so.
    """
    numbers = numbers_of(chart.xs)
    assert numbers is not None, "chosen for axes of numbers only"
    points = [
        [
            (at, chart.cells[x, look.key])
            for at, x in zip(numbers.values, chart.xs, strict=True)
            if (x, look.key) in chart.cells
        ]
        for look in chart.looks
    ]
    medians = [
        Curve(np.array([at for at, _ in having]), np.array([middle(values)[0] for _, values in having]))
        for having in points
    ]
    ends = _ends(chart, numbers.values)
    pieces, together = in_front(medians, *ends, steps=False)
    if together:
        chart = replace(chart, subtitle=f"{chart.subtitle} · {IN_TURNS}")
    figure, axes = panel(
        chart, tall_enough(_HEIGHT_IN, labels_of(chart), chart.series_label), 0.8, legend_room_in(chart), below(chart)
    )
    rings = _rings(medians, ends[1])
    for place, (look, having, front) in enumerate(zip(chart.looks, points, pieces, strict=True)):
        drawn = (look.colour, look.dash, _MARKERS[place % len(_MARKERS)])
        line = _line(axes, having, look.text, drawn)
        for piece in front:
            axes.plot(
                piece.times, piece.values, color=look.colour, ls=look.dash, lw=1.6, label=f"_{look.text}", zorder=2.5
            )
        if together and rings[place] is not None:
            line.set_fillstyle("none")
            line.set_markersize(4.5 + 3 * (rings[place] or 0))
    _scales(axes, chart, numbers.values, numbers.labels, ends)
    axes.set_xlabel(f"{chart.axis_label}{numbers.words}")
    axes.set_ylabel(style.fitted(chart.value_label, style.points(10), style.tall(_HEIGHT_IN), 2))
    legend(chart, figure, axes)
    return figure


_Ends = tuple[float, float, bool]
"""The ends of an axis, and whether it is logarithmic."""


def _ends(chart: Chart, ats: Sequence[float]) -> tuple[_Ends, _Ends]:
    """The ends of both axes, logarithmic if the range demands it."""
    low, high = min(ats), max(ats)
    if wants_log(ats):
        margin = (high / low) ** 0.04
        x = (low / margin, high * margin, True)
    else:
        foot = min(0.0, low)
        x = (foot, high + (high - foot) * 0.04, False)
    every = [value for values in chart.cells.values() for value in values]
    if wants_log(every):
        return x, (min(every) / 1.15, max(every) * 1.25, True)
    return x, (min(0.0, *every), max(every) * 1.06 or 1, False)


def _rings(medians: Sequence[Curve], ys: _Ends) -> list[int | None]:
    """The number of earlier lines that share a point with each line; None for lines without a shared point."""
    near = 0.012 * (ys[1] - ys[0])

    def meets(one: Curve, other: Curve) -> bool:
        _, mine, its = np.intersect1d(one.times, other.times, return_indices=True)
        return bool((np.abs(one.values[mine] - other.values[its]) <= near).any())

    found: list[int | None] = []
    for at, one in enumerate(medians):
        alike = [number for number, other in enumerate(medians) if number != at and meets(one, other)]
        found.append(sum(number < at for number in alike) if alike else None)
    return found


def _line(axes: Axes, points: list[tuple[float, tuple[float, ...]]], text: str, look: tuple[str, Dash, str]) -> Line2D:
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


def _scales(axes: Axes, chart: Chart, ats: list[float], labels: list[str], ends: tuple[_Ends, _Ends]) -> None:
    """Set ticks at the values, named as the scenario writes them."""
    (left, right, log_x), (foot, top, log_y) = ends
    if log_x:
        axes.set_xscale("log")
        style.log_ticks(axes.xaxis)
        axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlim(left, right)
    if len(ats) <= _MAX_TICKS:
        shown = _apart(axes, ats)
        axes.xaxis.set_major_locator(FixedLocator([ats[number] for number in shown]))
        axes.set_xticklabels([labels[number] for number in shown])
    if log_y:
        axes.set_yscale("log")
        axes.set_ylim(foot, top)
        style.log_ticks(axes.yaxis)
    axes.set_ylim(foot, top)


def _apart(axes: Axes, ats: list[float]) -> list[int]:
    """The ticks whose names do not overlap: at least a 25th of the width apart."""
    places = axes.transAxes.inverted().transform(axes.transData.transform([(at, 1.0) for at in ats]))[:, 0]
    shown: list[int] = []
    for number in sorted(range(len(ats)), key=lambda number: ats[number]):
        if not shown or places[number] - places[shown[-1]] >= style.TICK_ROOM * style.wider():
            shown.append(number)
    return shown
