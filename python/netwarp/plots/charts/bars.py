"""Bars with their values, for many scenarios: lying, so that long names can be read."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from netwarp.plots import style
from netwarp.plots.charts.chart import MAX_DOTS, Chart, legend, legend_room_in, middle, panel, value_text
from netwarp.plots.labels import wrapped
from netwarp.store.summary import axis_text

_BAR_IN = 0.26
_GAP_IN = 0.22
_NAME_CHARS = 28


def draw(chart: Chart) -> Figure:
    """A bar for each value of the first axis and each series: the median of its runs, and where they lie around it."""
    rows = _rows(chart)
    names = [wrapped("–" if x is None else axis_text(x), _NAME_CHARS) for x in chart.xs]
    left_in = 0.35 + 0.078 * max(len(line) for name in names for line in name.split("\n"))
    height_in = 1.55 + rows[-1][0] + _BAR_IN / 2 + _GAP_IN / 2
    figure, axes = panel(chart, height_in, max(left_in, 0.75), legend_room_in(chart))
    largest = max(max(values) for _, values, _ in rows)
    for at, values, colour in rows:
        _bar(axes, at, values, colour, largest)
    axes.set_xlim(0, largest * 1.16 or 1)
    axes.set_ylim(rows[-1][0] + (_BAR_IN + _GAP_IN) / 2, rows[0][0] - (_BAR_IN + _GAP_IN) / 2)
    places = [[at for at, values, _ in _rows(chart, x)] for x in chart.xs]
    axes.set_yticks([sum(ats) / len(ats) for ats in places], names)
    axes.tick_params(axis="y", length=0)
    axes.grid(False, axis="y")
    axes.set_xlabel(chart.value_label)
    if len(chart.series) > 1:
        legend(chart, figure, axes, [Patch(facecolor=colour, label=text) for _, text, colour, _ in chart.looks])
    figure.text(0.012, axes.get_position().y1 + 0.1 / height_in, chart.axis_label, fontsize=9, color=style.MUTED)
    return figure


def _rows(chart: Chart, only: object = ...) -> list[tuple[float, tuple[float, ...], str]]:
    """Where each bar stands (inches from the top of the panel), its runs' values and its colour."""
    rows = []
    at = 0.0
    for x in chart.xs:
        for series, _, colour, _ in chart.looks:
            if (values := chart.cells.get((x, series))) is not None:
                if only is ... or x == only:
                    rows.append((at, values, colour))
                at += _BAR_IN
        at += _GAP_IN if len(chart.series) > 1 else 0.1
    return rows


def _bar(axes: Axes, at: float, values: tuple[float, ...], colour: str, largest: float) -> None:
    median, low, high = middle(values)
    axes.barh(at, median, height=_BAR_IN * 0.86, color=colour, alpha=0.85, linewidth=0)
    end = median
    if 1 < len(values) <= MAX_DOTS:
        axes.plot(values, [at] * len(values), "o", markersize=3.2, color=style.INK, markeredgecolor="white", mew=0.4)
        end = max(values)
    elif len(values) > MAX_DOTS:
        axes.plot([low, high], [at, at], color=style.INK, linewidth=1.4)
        end = high
    axes.text(end + largest * 0.012, at, value_text(median), va="center", fontsize=9, color=style.INK)
