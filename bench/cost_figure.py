"""The figure of docs/cost.md: CPU time and memory of each curve over its sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from netwarp.plots import style
from netwarp.plots.colours import CATEGORICAL, REFERENCE

from bench.cost import CURVES, MADE, Costs, Curve, Point

TITLE = "How cost grows"
SUBTITLE = "both axes are logarithmic; grey: linear growth, through the largest size"
_ROW_IN, _GAP_IN, _LEFT_IN, _RIGHT_IN, _FOOT_IN = 1.25, 0.62, 0.75, 0.2, 0.5
_COMMAND, _ENGINE, _MEMORY = CATEGORICAL[0], CATEGORICAL[1], CATEGORICAL[2]


def draw(costs: Costs, stem: Path) -> list[Path]:
    """Draw the curves that make runs, a row each; returns the file."""
    drawn = [curve for curve in CURVES[:MADE] if len(costs.curves.get(curve.name, {})) > 1]
    handles = [
        Line2D([], [], color=_COMMAND, marker="o", markersize=3, label="whole command"),
        Line2D([], [], color=_ENGINE, marker="o", markersize=3, label="engine"),
        Line2D([], [], color=_MEMORY, marker="o", markersize=3, label="memory of the largest process"),
        Line2D([], [], color=REFERENCE, linestyle="--", label="linear growth"),
    ]
    with style.drawing_wide():
        width_in = style.width_in()
        head_in = style.head_in(TITLE, SUBTITLE, _LEFT_IN) + 0.05
        height_in = head_in + len(drawn) * (_ROW_IN + _GAP_IN) + _FOOT_IN
        figure = style.new_figure(height_in)
        wide_in = (width_in - 2 * _LEFT_IN - _RIGHT_IN) / 2
        for row, curve in enumerate(drawn):
            bottom_in = height_in - head_in - row * (_ROW_IN + _GAP_IN) - _ROW_IN
            for column, fill in enumerate((_draw_time, _draw_memory)):
                left_in = _LEFT_IN + column * (wide_in + _LEFT_IN)
                place = (left_in / width_in, bottom_in / height_in, wide_in / width_in, _ROW_IN / height_in)
                axes = figure.add_axes(place)
                fill(axes, costs.curves[curve.name])
                _finish(axes, curve, list(costs.curves[curve.name]))
        style.head(figure, TITLE, SUBTITLE, _LEFT_IN / width_in)
        style.legend_below(figure, handles, _LEFT_IN / width_in, 0.1, width_in - _LEFT_IN - _RIGHT_IN)
        return style.save(figure, stem, ("svg",))


def _draw_time(axes: Axes, points: Mapping[int, Point]) -> None:
    sizes = list(points)
    commands = [point.command_s for point in points.values()]
    _line(axes, sizes, commands, _COMMAND)
    _line(axes, sizes, [point.engine_s or float("nan") for point in points.values()], _ENGINE)
    _linear(axes, sizes, commands)
    axes.set_ylabel("CPU, s")


def _draw_memory(axes: Axes, points: Mapping[int, Point]) -> None:
    sizes = list(points)
    peaks = [point.peak_mb for point in points.values()]
    _line(axes, sizes, peaks, _MEMORY)
    _linear(axes, sizes, peaks)
    axes.set_ylabel("MB")


def _line(axes: Axes, sizes: Sequence[int], values: Sequence[float], colour: str) -> None:
    axes.plot(sizes, values, color=colour, marker="o", markersize=3)


def _linear(axes: Axes, sizes: Sequence[int], values: Sequence[float]) -> None:
    """A line of linear growth through the last point, in the part of the panel that the values fill."""
    lowest = min(values) / 2
    first = max(sizes[0], sizes[-1] * lowest / values[-1])
    line = [values[-1] * first / sizes[-1], values[-1]]
    axes.plot([first, sizes[-1]], line, color=REFERENCE, linestyle="--", zorder=1)


def _finish(axes: Axes, curve: Curve, sizes: Sequence[int]) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(sizes[0] / 1.3, sizes[-1] * 1.3)
    axes.set_xlabel(f"{curve.unit} ({curve.what})" if axes.get_ylabel().startswith("CPU") else curve.unit)
    low, high = axes.get_ylim()
    if high / low < 10:
        middle = (low * high) ** 0.5
        axes.set_ylim(middle / 4, middle * 4)
    axes.minorticks_off()
    style.log_ticks(axes.xaxis)
    style.log_ticks(axes.yaxis)
