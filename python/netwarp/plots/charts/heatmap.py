"""A metric over two axes as a map, with the value in every cell that has room for it."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from netwarp.plots import style
from netwarp.plots.charts.chart import Chart, middle, panel, value_texts, wants_log
from netwarp.plots.labels import wrapped

_ROW_IN = 0.5
_NAME_CHARS = 26
_BAR_IN = 1.25
_GAP_IN = 0.07
"""The space between the names of columns, and between numbers."""


def draw(chart: Chart) -> Figure:
    """Draw the first axis as rows, the second as columns; colour and number are the median of a cell's runs."""
    grid = np.array(
        [[middle(chart.cells[x, s])[0] if (x, s) in chart.cells else np.nan for s in chart.series] for x in chart.xs]
    )
    size = style.points(9)
    most_in = 0.3 * style.width_in()
    names = [style.fitted(wrapped(text, _NAME_CHARS).replace("\n", " "), size, most_in, 2) for text in chart.x_texts]
    left_in = max(0.4 + max(style.text_in(line, size) for name in names for line in name.split("\n")), 0.75)
    cell_in = (style.width_in() - left_in - _BAR_IN) / len(chart.series)
    heads, upright, heads_in = _heads([look.text for look in chart.looks], cell_in, size)
    figure, axes = panel(chart, 0.05 + heads_in + _ROW_IN * max(len(names), 2), left_in, _BAR_IN)
    height = float(figure.get_size_inches()[1])
    box = axes.get_position()
    axes.set_position((box.x0, box.y0 + heads_in / height, box.width, box.height - (heads_in + 0.05) / height))
    finite = grid[np.isfinite(grid)]
    low, high = chart.span or (finite.min(), finite.max())
    norm = LogNorm if wants_log([low, high]) else Normalize
    image = axes.imshow(np.ma.masked_invalid(grid), aspect="auto", cmap="cividis", norm=norm(low, high or 1))
    _numbers(axes, image, grid, cell_in)
    # If columns are narrower than the height of a line of type, only each second, third … is named.
    every = max(1, int(np.ceil(style.line_in(9) / cell_in))) if upright else 1
    axes.set_xticks(range(0, len(heads), every), heads[::every], rotation=90 if upright else 0)
    axes.set_yticks(range(len(names)), names)
    axes.tick_params(length=0)
    axes.grid(False)
    axes.spines[:].set_visible(False)
    axes.set_xlabel(chart.series_label)
    figure.text(
        0.012, axes.get_position().y1 + 0.06 / height, chart.axis_label, fontsize=style.points(9), color=style.MUTED
    )
    box = axes.get_position()
    bar = figure.colorbar(image, cax=figure.add_axes((box.x1 + 0.02, box.y0, 0.018, box.height)))
    if norm is LogNorm:
        style.log_ticks(bar.ax.yaxis)
    bar.set_label(style.fitted(chart.value_label, style.points(10), box.height * height, 2))
    bar.outline.set_visible(False)
    return figure


def _heads(texts: Sequence[str], cell_in: float, size: float) -> tuple[list[str], bool, float]:
    """The names of columns, whether they are rotated because they are too wide, and their height."""
    texts = [text.replace("\n", " ") for text in texts]  # wrapped for legends
    flat = [style.fitted(text, size, cell_in - _GAP_IN, 3) for text in texts]
    if all(text.replace("\n", " ") == whole for text, whole in zip(flat, texts, strict=True)):
        return flat, False, 0.03 + style.line_in(9) * (max(text.count("\n") for text in flat))
    upright = [style.fitted(text, size, 1.2) for text in texts]
    return upright, True, max(style.text_in(text, size) for text in upright) - style.line_in(9) + 0.08


def _numbers(axes: Axes, image: AxesImage, grid: np.ndarray, cell_in: float) -> None:
    """Print the values in their cells, in the largest type that keeps them apart; none if no type does."""
    texts = value_texts(grid.ravel().tolist())
    sizes = (style.points(10), style.points(9), style.points(8), style.MIN_POINTS)
    fits = [size for size in sizes if max(style.text_in(text, size) for text in texts) <= cell_in - _GAP_IN]
    if not fits:
        return
    for ((row, column), value), label in zip(np.ndenumerate(grid), texts, strict=True):
        text = label if np.isfinite(value) else "–"
        dark = np.isfinite(value) and float(image.norm(float(value))) < 0.55  # type: ignore[arg-type]
        axes.text(column, row, text, ha="center", va="center", fontsize=fits[0], color="white" if dark else style.INK)
