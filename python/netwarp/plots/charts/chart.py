"""What a figure of a metric over axes shows, and the parts that all such figures share."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from netwarp.plots import style
from netwarp.plots.colours import looks
from netwarp.plots.labels import is_ordered, wrapped
from netwarp.plots.look import current
from netwarp.stats.weighting import TimeWeighted
from netwarp.store.summary import axis_text

LEGEND_CHARS = 26
LOG_FROM = 30
MAX_DOTS = 12
"""Up to how many runs a cell's single values are drawn; of more, the middle half is."""
FOOT_IN = 0.62
_SPACING_IN = 0.07
"""Between the entries of a legend."""


@dataclass(frozen=True)
class Chart:
    """A metric by `xs` (values of the first axis) and `series` (combinations of the others, `()` if there are none).

    `cells` holds the values of the runs at (x, series), `spread` their distributions where the figure shows those.
    """

    title: str
    subtitle: str
    value_label: str
    axis_label: str
    series_label: str
    xs: Sequence[Any]
    series: Sequence[tuple[Any, ...]]
    cells: Mapping[tuple[Any, tuple[Any, ...]], tuple[float, ...]]
    spread: Mapping[tuple[Any, tuple[Any, ...]], TimeWeighted]

    @property
    def looks(self) -> list[tuple[tuple[Any, ...], str, str, str]]:
        """Each series with its label, colour and dashes."""
        ordered = len(self.series) > 1 and is_ordered([series_text(one) for one in self.series])
        texts = [wrapped(series_text(one), LEGEND_CHARS) for one in self.series]
        found = looks([series_text(one) for one in self.series], ordered)
        return [(one, text, *look) for one, text, look in zip(self.series, texts, found, strict=True)]


def series_text(values: Sequence[Any]) -> str:
    """The values of a series in one line."""
    return ", ".join("–" if value is None else axis_text(value) for value in values)


def value_text(value: float) -> str:
    """A value as it is printed in a figure: three significant digits, no exponent, no needless zeros."""
    if value == 0 or not np.isfinite(value):
        return f"{value:g}"
    digits = max(0, 2 - int(np.floor(np.log10(abs(value)))))
    text = f"{value:,.{digits}f}".replace(",", "\u2009")
    return text.rstrip("0").rstrip(".") if "." in text else text


def value_texts(values: Sequence[float]) -> list[str]:
    """Values that stand beside each other, so that they can be compared: where they are of one order of magnitude all
    with as many digits after the point (0.998, 1.000), else each by itself."""
    finite = [abs(value) for value in values if np.isfinite(value)]
    lowest = min(finite, default=0.0)
    if lowest == 0 or max(finite) > 10 * lowest or all(value == round(value) for value in finite):
        return [value_text(value) for value in values]
    digits = max(0, 2 - int(np.floor(np.log10(lowest))))
    return [f"{value:,.{digits}f}".replace(",", "\u2009") if np.isfinite(value) else f"{value:g}" for value in values]


def middle(values: Sequence[float]) -> tuple[float, float, float]:
    """Median, and lower and upper quartile, of the runs of a cell."""
    low, mid, high = np.percentile(values, [25, 50, 75])
    return float(mid), float(low), float(high)


def wants_log(values: Sequence[float]) -> bool:
    """Whether values differ so much that a linear axis would hide the small ones."""
    finite = [value for value in values if np.isfinite(value)]
    return bool(finite) and min(finite) > 0 and max(finite) / min(finite) > LOG_FROM


def panel(
    chart: Chart, panel_in: float, left_in: float, right_in: float, beneath: Sequence[str] = ()
) -> tuple[Figure, Axes]:
    """A figure with its head and one panel of that height, margins in inches; room for a legend `beneath` it."""
    head_left_in = min(left_in, 0.75)
    head_in = style.head_in(chart.title, chart.subtitle, head_left_in)
    foot_in = FOOT_IN + style.legend_rows_in(beneath, style.width_in() - 0.2)
    height_in = panel_in + head_in + foot_in
    figure = style.new_figure(height_in)
    left, right = left_in / style.width_in(), right_in / style.width_in()
    bottom = foot_in / height_in
    axes = figure.add_axes((left, bottom, 1 - left - right, panel_in / height_in))
    style.head(figure, chart.title, chart.subtitle, head_left_in / style.width_in())
    return figure, axes


def legend_room_in(chart: Chart) -> float:
    """How wide the margin for the legend of series is, in inches."""
    return room_in(labels_of(chart), chart.series_label)


def room_in(labels: Sequence[str], title: str) -> float:
    """How wide the margin for a legend is; none stands there in a narrow figure."""
    if not labels or current().narrow:
        return 0.3
    lines = [line for text in [*labels, wrapped(title, LEGEND_CHARS)] for line in text.split("\n")]
    return 0.72 + max(style.text_in(line, style.points(9)) for line in lines)


def tall_enough(panel_in: float, labels: Sequence[str], title: str) -> float:
    """The height of a panel beside which a legend of these labels stands."""
    panel_in = style.tall(panel_in)
    if not labels or current().narrow:
        return panel_in
    lines = sum(text.count("\n") + 1 for text in (*labels, wrapped(title, LEGEND_CHARS)))
    return max(panel_in, lines * style.line_in(9) + (len(labels) + 2) * _SPACING_IN)


def labels_of(chart: Chart) -> list[str]:
    """The labels of the series, where there are several."""
    return [text for _, text, _, _ in chart.looks] if len(chart.series) > 1 else []


def beneath(chart: Chart) -> list[str]:
    """The labels of a legend of series that stands beneath the panel."""
    return labels_of(chart) if current().narrow else []


def legend(chart: Chart, figure: Figure, axes: Axes, handles: Sequence[Artist] | None = None) -> None:
    """The legend of series to the right of the panel, where there are several; of what the axes hold, or `handles`."""
    if len(chart.series) > 1 and current().narrow:
        shown = axes.get_legend_handles_labels()[0] if handles is None else handles
        style.legend_beneath(figure, shown, 0.1 / style.width_in(), 0.04, style.width_in() - 0.2)
    elif len(chart.series) > 1:
        box = axes.get_position()
        style.legend_outside(figure, axes, wrapped(chart.series_label, LEGEND_CHARS), (box.x1 + 0.015, box.y1), handles)
