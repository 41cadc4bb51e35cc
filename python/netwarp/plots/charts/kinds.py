"""The kinds of figures of metrics, by name."""

from collections.abc import Callable

from matplotlib.figure import Figure

from netwarp.plots import style
from netwarp.plots.charts import bars, boxes, cdf, heatmap, lines
from netwarp.plots.charts.chart import Chart
from netwarp.plots.look import current

KINDS: dict[str, Callable[[Chart], Figure]] = {
    "bar": bars.draw,
    "line": lines.draw,
    "box": boxes.draw,
    "heatmap": heatmap.draw,
    "cdf": cdf.draw,
}


def draw_chart(chart: Chart) -> Figure:
    """Draw a chart, with the requested limits and scale if it has such axes."""
    figure = KINDS[chart.kind](chart)
    asked, axes = current(), figure.axes[0]
    if chart.kind in ("line", "cdf") and asked.xlim is not None:
        axes.set_xlim(*asked.xlim)
    if chart.kind in ("line", "box") and asked.ylog and axes.dataLim.ymin > 0:
        axes.set_yscale("log")
        axes.set_ylim(axes.dataLim.ymin / 1.2, axes.dataLim.ymax * 1.2)
        style.log_ticks(axes.yaxis)
    return figure
