"""A metric over two axes as a map, the value printed in every cell."""

import numpy as np
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure

from netwarp.plots import style
from netwarp.plots.charts.chart import Chart, middle, panel, series_text, value_texts, wants_log
from netwarp.plots.labels import wrapped
from netwarp.store.summary import axis_text

_ROW_IN = 0.5
_NAME_CHARS = 26
_COLUMN_CHARS = 14


def draw(chart: Chart) -> Figure:
    """Rows are the first axis, columns the second; the colour and the number are the median of a cell's runs."""
    grid = np.array(
        [[middle(chart.cells[x, s])[0] if (x, s) in chart.cells else np.nan for s in chart.series] for x in chart.xs]
    )
    names = [wrapped("–" if x is None else axis_text(x), _NAME_CHARS) for x in chart.xs]
    heads = [wrapped(series_text(one), _COLUMN_CHARS) for one in chart.series]
    left_in = 0.4 + max(style.text_in(line, style.points(9)) for name in names for line in name.split("\n"))
    lines = max(head.count("\n") for head in heads) + 1
    figure, axes = panel(chart, 0.1 + 0.16 * lines + _ROW_IN * max(len(names), 2), max(left_in, 0.75), 1.25)
    height = float(figure.get_size_inches()[1])
    box = axes.get_position()
    axes.set_position((box.x0, box.y0 + 0.16 * lines / height, box.width, box.height - (0.16 * lines + 0.05) / height))
    finite = grid[np.isfinite(grid)]
    norm = LogNorm if wants_log(finite.tolist()) else Normalize
    image = axes.imshow(
        np.ma.masked_invalid(grid), aspect="auto", cmap="cividis", norm=norm(finite.min(), finite.max() or 1)
    )
    texts = value_texts(grid.ravel().tolist())
    for ((row, column), value), label in zip(np.ndenumerate(grid), texts, strict=True):
        text = label if np.isfinite(value) else "–"
        dark = np.isfinite(value) and float(image.norm(float(value))) < 0.55  # type: ignore[arg-type]
        axes.text(
            column, row, text, ha="center", va="center", fontsize=style.points(10), color="white" if dark else style.INK
        )
    axes.set_xticks(range(len(heads)), heads)
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
    bar.set_label(chart.value_label)
    bar.outline.set_visible(False)
    return figure
