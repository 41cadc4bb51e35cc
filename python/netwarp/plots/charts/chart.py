"""A figure of a metric over axes, and the parts that all such figures share."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from netwarp.plots import style
from netwarp.plots.colours import Look
from netwarp.plots.labels import wrapped
from netwarp.plots.look import current
from netwarp.plots.timeseries.figure_spec import Curve, Dash, Values
from netwarp.plots.turns import cut_out, stretches_in_front
from netwarp.stats.weighting import TimeWeighted
from netwarp.store.summary import axis_text

LEGEND_CHARS = 26
LOG_FROM = 30
MAX_DOTS = 12
"""Up to this many runs of a cell are drawn as single values; of more the middle half is drawn."""
FOOT_IN = 0.62
_SPACING_IN = 0.07
"""The space between the entries of a legend."""


class SeriesLook(NamedTuple):
    """A series: its values, its label, the colour and dashes of its line, and the hatching of its bars and boxes."""

    key: tuple[Any, ...]
    text: str
    colour: str
    dash: Dash
    hatch: str = ""


@dataclass(frozen=True)
class Chart:
    """A figure of a `kind`: a metric by `xs` (values of the first axis) and `series` (combinations of the others, `()`
    if there are none).

    `cells` holds the values of the runs at (x, series), `spread` their distributions if the figure shows those.
    `x_texts` and `x_looks` are the name of each of `xs`, and its look if each has its own. `left_out` is shown even
    without a title. `span` has the lowest and highest value of all maps that are compared.
    """

    title: str
    subtitle: str
    value_label: str
    axis_label: str
    series_label: str
    xs: Sequence[Any]
    x_texts: Sequence[str]
    x_looks: Sequence[Look]
    looks: Sequence[SeriesLook]
    cells: Mapping[tuple[Any, tuple[Any, ...]], tuple[float, ...]]
    spread: Mapping[tuple[Any, tuple[Any, ...]], TimeWeighted]
    kind: str = "bar"
    left_out: Sequence[str] = ()
    span: tuple[float, float] | None = None
    by_value: bool = False
    """Whether the values of the first axis have known looks, as congestion controls have."""

    @property
    def series(self) -> list[tuple[Any, ...]]:
        """The values of each series."""
        return [look.key for look in self.looks]

    def bar_look(self, at: int, series: SeriesLook) -> tuple[str, str]:
        """Colour and hatching of the bar or box at index `at` of the first axis."""
        if len(self.looks) == 1:
            return (self.x_looks[at][0] if self.by_value else style.NEUTRAL), ""
        return series.colour, series.hatch


def series_text(values: Sequence[Any]) -> str:
    """The values of a series in one line, as they are shown."""
    return ", ".join("–" if value is None else axis_text(value) for value in values)


def in_front(
    curves: Sequence[Curve], xs: tuple[float, float, bool], ys: tuple[float, float, bool], *, steps: bool
) -> tuple[list[list[Curve]], bool]:
    """The pieces of each curve that must be drawn over later curves, and whether any curves coincide.

    `xs` and `ys` are the ends of the axes, and whether they are logarithmic.
    """

    def scaled(values: Values, log: bool) -> Values:
        return np.log10(np.maximum(values, 1e-12)) if log else values

    placed = [Curve(scaled(curve.times, xs[2]), scaled(curve.values, ys[2])) for curve in curves]
    window, heights = (tuple(scaled(np.array(ends[:2]), ends[2]).tolist()) for ends in (xs, ys))
    found, together = stretches_in_front(placed, range(len(curves)), window, heights, steps=steps)
    pieces = [[cut_out(curve, one, steps=steps) for one in some] for curve, some in zip(placed, found, strict=True)]
    return [
        [Curve(*(10**v if log else v for v, log in ((p.times, xs[2]), (p.values, ys[2])))) for p in some]
        for some in pieces
    ], together


def value_text(value: float) -> str:
    """Format a value for a figure: three significant digits, no exponent, no trailing zeros."""
    if value == 0 or not np.isfinite(value):
        return f"{value:g}"
    text = _fixed(value, _places(value))
    return text.rstrip("0").rstrip(".") if "." in text else text


def value_texts(values: Sequence[float]) -> list[str]:
    """Format values that are compared with each other: with the same number of digits after the point if they are of
    one order of magnitude (0.998, 1.000), else with three significant digits each (0.0848, 0.460); counts have none."""
    finite = [abs(value) for value in values if np.isfinite(value)]
    if all(value == round(value) for value in finite):
        return [value_text(value) for value in values]
    lowest = min(finite)
    shared = _places(lowest) if lowest and max(finite) <= 10 * lowest else None
    return [_fixed(value, _places(value) if shared is None else shared) for value in values]


def _places(value: float) -> int:
    """The digits after the point of three significant ones."""
    return max(0, 2 - int(np.floor(np.log10(abs(value))))) if value and np.isfinite(value) else 0


def _fixed(value: float, places: int) -> str:
    return f"{value:,.{places}f}".replace(",", "\u2009") if np.isfinite(value) else f"{value:g}"


def middle(values: Sequence[float]) -> tuple[float, float, float]:
    """The median, lower and upper quartile of the runs of a cell."""
    low, mid, high = np.percentile(values, [25, 50, 75])
    return float(mid), float(low), float(high)


def wants_log(values: Sequence[float]) -> bool:
    """Whether values differ so much that a linear axis would hide the small ones."""
    finite = [value for value in values if np.isfinite(value)]
    return bool(finite) and min(finite) > 0 and max(finite) / min(finite) > LOG_FROM


def panel(
    chart: Chart, panel_in: float, left_in: float, right_in: float, below: Sequence[str] = ()
) -> tuple[Figure, Axes]:
    """A figure with its head and one panel of that height, margins in inches, and room for a legend `below` it."""
    head_left_in = min(left_in, 0.75)
    head_in = style.head_in(chart.title, chart.subtitle, head_left_in, chart.left_out)
    foot_in = FOOT_IN + style.legend_rows_in(below, style.width_in() - 0.2)
    height_in = panel_in + head_in + foot_in
    figure = style.new_figure(height_in)
    left, right = left_in / style.width_in(), right_in / style.width_in()
    bottom = foot_in / height_in
    axes = figure.add_axes((left, bottom, 1 - left - right, panel_in / height_in))
    style.head(figure, chart.title, chart.subtitle, head_left_in / style.width_in(), chart.left_out)
    return figure, axes


def legend_room_in(chart: Chart) -> float:
    """The width of the margin for the legend of series, in inches."""
    return room_in(labels_of(chart), chart.series_label)


def room_in(labels: Sequence[str], title: str) -> float:
    """The width of the margin for a legend, in inches; 0 in a narrow figure, which has it below."""
    if not labels or current().narrow:
        return 0.3
    lines = [line for text in [*labels, wrapped(title, LEGEND_CHARS)] for line in text.split("\n")]
    return 0.72 + max(style.text_in(line, style.points(9)) for line in lines)


def tall_enough(panel_in: float, labels: Sequence[str], title: str) -> float:
    """The height of a panel that has a legend of these labels beside it."""
    panel_in = style.tall(panel_in)
    if not labels or current().narrow:
        return panel_in
    lines = sum(text.count("\n") + 1 for text in (*labels, wrapped(title, LEGEND_CHARS)))
    return max(panel_in, lines * style.line_in(9) + (len(labels) + 2) * _SPACING_IN)


def labels_of(chart: Chart) -> list[str]:
    """The labels of the series if there are several; else empty."""
    return [look.text for look in chart.looks] if len(chart.looks) > 1 else []


def below(chart: Chart) -> list[str]:
    """The labels of a legend of series below the panel."""
    return labels_of(chart) if current().narrow else []


def legend(chart: Chart, figure: Figure, axes: Axes, handles: Sequence[Artist] | None = None) -> None:
    """Draw the legend of several series to the right of the panel, of the axes' artists or of `handles`."""
    if len(chart.series) > 1 and current().narrow:
        shown = axes.get_legend_handles_labels()[0] if handles is None else handles
        style.legend_below(figure, shown, 0.1 / style.width_in(), 0.04, style.width_in() - 0.2)
    elif len(chart.series) > 1:
        box = axes.get_position()
        style.legend_outside(figure, axes, wrapped(chart.series_label, LEGEND_CHARS), (box.x1 + 0.015, box.y1), handles)
