"""Bars with their values, horizontal, so that long names of scenarios can be read."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from netwarp.plots import style
from netwarp.plots.charts.chart import (
    MAX_DOTS,
    Chart,
    below,
    labels_of,
    legend,
    legend_room_in,
    middle,
    panel,
    tall_enough,
    value_texts,
)
from netwarp.plots.labels import wrapped
from netwarp.plots.look import current

_BAR_IN = 0.26
_GAP_IN = 0.22
_NAME_CHARS = 28
_NARROW_NAME_IN = 1.1


def draw(chart: Chart) -> Figure:
    """Draw a bar for each value of the first axis and each series: the median of its runs, and their spread."""
    rows = _rows(chart)
    narrow = current().narrow
    size = style.points(9)
    names = [style.fitted(t, size, _NARROW_NAME_IN, 2) if narrow else wrapped(t, _NAME_CHARS) for t in chart.x_texts]
    left_in = 0.25 + max(style.text_in(line, style.points(9)) for name in names for line in name.split("\n"))
    panel_in = max(rows[-1][0] + _BAR_IN + _GAP_IN, tall_enough(0.0, labels_of(chart), chart.series_label))
    figure, axes = panel(chart, panel_in, max(left_in, 0.75), legend_room_in(chart), below(chart))
    height_in = float(figure.get_size_inches()[1])
    largest = max(max(values) for _, values, _ in rows)
    texts = value_texts([middle(values)[0] for _, values, _ in rows])
    for (at, values, look), text in zip(rows, texts, strict=True):
        _bar(axes, at, values, look, largest=largest, text=text)
    axes.set_xlim(0, largest * (1.4 if narrow else 1.16) or 1)
    axes.xaxis.set_major_locator(MaxNLocator(2 if narrow else 8))
    axes.set_ylim(rows[-1][0] + (_BAR_IN + _GAP_IN) / 2, rows[0][0] - (_BAR_IN + _GAP_IN) / 2)
    places = [[at for at, values, _ in _rows(chart, x)] for x in chart.xs]
    axes.set_yticks([sum(ats) / len(ats) for ats in places], names)
    axes.tick_params(axis="y", length=0)
    axes.grid(False, axis="y")
    label = style.fitted(chart.value_label, style.points(10), style.width_in() - 0.3)
    axes.set_xlabel(label, loc="right" if narrow else "center")
    if len(chart.series) > 1:
        patches = [Patch(facecolor=o.colour, hatch=o.hatch, edgecolor="white", label=o.text) for o in chart.looks]
        legend(chart, figure, axes, patches)
    figure.text(
        0.012, axes.get_position().y1 + 0.04 / height_in, chart.axis_label, fontsize=style.points(9), color=style.MUTED
    )
    return figure


def _rows(chart: Chart, only: object = ...) -> list[tuple[float, tuple[float, ...], tuple[str, str]]]:
    """The position of each bar (inches from the top of the panel), its runs' values, its colour and hatching."""
    rows = []
    at = 0.0
    for number, x in enumerate(chart.xs):
        for look in chart.looks:
            if (values := chart.cells.get((x, look.key))) is not None:
                if only is ... or x == only:
                    rows.append((at, values, chart.bar_look(number, look)))
                at += _BAR_IN
        at += _GAP_IN if len(chart.series) > 1 else 0.1
    return rows


def _bar(axes: Axes, at: float, values: tuple[float, ...], look: tuple[str, str], *, largest: float, text: str) -> None:
    median, low, high = middle(values)
    colour, hatch = look
    axes.barh(at, median, height=_BAR_IN * 0.86, facecolor=colour, hatch=hatch, edgecolor="white", alpha=0.85, lw=0)
    end = median
    if 1 < len(values) <= MAX_DOTS:
        axes.plot(values, [at] * len(values), "o", markersize=3.2, color=style.INK, markeredgecolor="white", mew=0.4)
        end = max(values)
    elif len(values) > MAX_DOTS:
        axes.plot([low, high], [at, at], color=style.INK, linewidth=1.4)
        end = high
    axes.text(end + largest * 0.012, at, text, va="center", fontsize=style.points(9), color=style.INK)
