"""Box plots: the distribution of runs, or of the samples within them, at each point."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from netwarp.plots import style
from netwarp.plots.charts.chart import (
    Chart,
    below,
    labels_of,
    legend,
    legend_room_in,
    panel,
    tall_enough,
    value_text,
    wants_log,
)
from netwarp.plots.labels import numbers_of, wrapped
from netwarp.stats.weighting import weighted_percentiles

_HEIGHT_IN = 3.4
_PERCENTS = (5, 25, 50, 75, 95)
_ENDS = 0.2
"""The axis's ends beyond the room of the first and last value, in parts of a value's room."""


def draw(chart: Chart) -> Figure:
    """Draw a box for each value of the first axis and each series: middle half, median, and whiskers to 5 and 95 %.

    For samples within runs the shares are of time, packets or transfers; a box of transfers ends with the last known
    quantile. Boxes of fewer than 5 runs show the runs as dots.
    """
    figure, axes = panel(
        chart, tall_enough(_HEIGHT_IN, labels_of(chart), chart.series_label), 0.8, legend_room_in(chart), below(chart)
    )
    width = 0.8 / len(chart.series)
    marks: list[float] = []
    every = {(x, look.key): _statistics(chart, x, look.key) for x in chart.xs for look in chart.looks}
    medians = {key: value_text(stats["med"]) for key, stats in every.items() if stats is not None}
    room_in = figure.get_figwidth() * axes.get_position().width / (len(chart.xs) + _ENDS)
    points = _points(list(medians.values()), room_in * (width if len(chart.series) > 1 else 1))
    for place, look in enumerate(chart.looks):
        series = look.key
        ats = {x: number + (place - (len(chart.series) - 1) / 2) * width for number, x in enumerate(chart.xs)}
        having = {x: stats for x in chart.xs if (stats := every[x, series]) is not None}
        if not having:
            continue
        drawn = axes.bxp(
            list(having.values()),
            positions=[ats[x] for x in having],
            widths=width * 0.78,
            showfliers=True,
            patch_artist=True,
            manage_ticks=False,
            boxprops={"alpha": 0.75, "linewidth": 0},
            medianprops={"color": style.INK, "linewidth": 1.6},
            whiskerprops={"color": style.MUTED},
            capprops={"color": style.MUTED},
            flierprops={"marker": "o", "markersize": 3, "markerfacecolor": style.INK, "markeredgecolor": "white"},
        )
        drawn["boxes"][0].set_label(look.text)
        for box, x in zip(drawn["boxes"], having, strict=True):
            colour, hatch = chart.bar_look(chart.xs.index(x), look)
            box.set(facecolor=colour, hatch=hatch, edgecolor="white")
        for x, stats in having.items():
            marks += [stats["whislo"], stats["whishi"], *stats["fliers"]]
            if points is not None:
                axes.annotate(
                    medians[x, series],
                    (ats[x], max(stats["whishi"], *stats["fliers"], stats["q3"])),
                    xytext=(0, 3),
                    textcoords="offset points",
                    ha="center",
                    fontsize=points,
                )
    chars = max(6, int(84 / style.wider()) // len(chart.xs))
    numbers = numbers_of(chart.xs)
    names = [wrapped(text, chars) for text in chart.x_texts] if numbers is None else numbers.labels
    axes.set_xticks(range(len(chart.xs)), names)
    axes.set_xlim(-0.5 - _ENDS / 2, len(chart.xs) - 0.5 + _ENDS / 2)
    axes.grid(False, axis="x")
    if wants_log(marks):
        axes.set_yscale("log")
        style.log_ticks(axes.yaxis)
    else:
        axes.set_ylim(min(0.0, *marks), max(marks) * 1.08 or 1)
    axes.set_xlabel(chart.axis_label + (numbers.words if numbers else ""))
    axes.set_ylabel(style.fitted(chart.value_label, style.points(10), style.tall(_HEIGHT_IN), 2))
    legend(chart, figure, axes)
    for mark in figure.legends[0].get_patches() if figure.legends else ():
        assert isinstance(mark, Patch)
        mark.set_alpha(0.75)
    return figure


def _points(names: Sequence[str], room_in: float) -> float | None:
    """The size of type in which each name fits between its neighbours; None if that is too small to read."""
    for points in (style.points(8), style.MIN_POINTS):
        if all(style.text_in(f"{name}  ", points) <= room_in for name in names):
            return points
    return None


def _statistics(chart: Chart, x: Any, series: tuple[Any, ...]) -> dict[str, Any] | None:
    """The statistics for matplotlib's bxp; None if there are none."""
    if (held := chart.spread.get((x, series))) is not None:
        numbers = weighted_percentiles(held, _PERCENTS)
        fliers: list[float] = []
    elif (values := chart.cells.get((x, series))) is not None:
        numbers = np.percentile(values, _PERCENTS).tolist()
        fliers = list(values) if len(values) < 5 else [v for v in values if not numbers[0] <= v <= numbers[4]]
    else:
        return None
    # A quantile among values with only a lower bound is absent; without a median there is no box.
    if numbers is None or np.isinf(numbers[2]):
        return None
    finite = [number for number in numbers if not np.isinf(number)]
    numbers = finite + [finite[-1]] * (len(numbers) - len(finite))
    low, q1, median, q3, high = numbers
    return {"whislo": low, "q1": q1, "med": median, "q3": q3, "whishi": high, "fliers": fliers}
