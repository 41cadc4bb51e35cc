"""The figure: a row of panels for each place, a column for each metric, a bar for each tuner, a line at the default."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes

from netwarp.plots import style
from netwarp.plots.charts.chart import value_texts
from netwarp.plots.colours import CATEGORICAL
from netwarp.studies.tuners.analysis import METRICS, Compared, places

_BAR_IN = 0.25
_HEAD_IN, _ROW_GAP_IN, _FOOT_IN = 0.55, 0.75, 0.18
_HALO: dict[str, Any] = {"facecolor": "white", "edgecolor": "none", "pad": 0.6, "alpha": 0.85}
_DEFAULT, _TUNED = "#9a9a9a", CATEGORICAL[0]


def draw(rows: Sequence[Compared], name: str, stem: Path) -> list[Path]:
    """Draw the figure; return the files. Raises StoreError."""
    where = places(rows)
    tuners = list(dict.fromkeys(row.tuner for row in rows))
    metrics = [metric for metric in METRICS if any(row.metric == metric for row in rows)]
    panel_in = _BAR_IN * len(tuners) + 0.1
    height_in = _HEAD_IN + len(where) * (panel_in + _ROW_GAP_IN) + _FOOT_IN
    left_in = 0.3 + 0.085 * max(len(tuner) for tuner in tuners)
    with style.drawing_wide():
        width_in = (style.width_in() - left_in - 0.15) / len(metrics)
        figure = style.new_figure(height_in)
        for down, place in enumerate(where):
            top_in = _HEAD_IN + down * (panel_in + _ROW_GAP_IN) + _ROW_GAP_IN
            bottom = 1 - (top_in + panel_in) / height_in
            for across, metric in enumerate(metrics):
                left = (left_in + across * width_in) / style.width_in()
                box = (left, bottom, (width_in - 0.18) / style.width_in(), panel_in / height_in)
                axes = figure.add_axes(box)
                values = {row.tuner: row for row in rows if (row.place, row.metric) == (place, metric)}
                _bars(axes, [values.get(tuner) for tuner in tuners])
                axes.set_yticks(range(len(tuners)), tuners if across == 0 else [""] * len(tuners))
                title = style.fitted(METRICS[metric], 8.5, width_in - 0.08, 2)
                axes.set_title(title, fontsize=8.5, loc="left", color=style.MUTED)
            at = 1 - (top_in - 0.4) / height_in
            figure.text(0.012, at, place or "all", fontsize=10.5, fontweight="bold", va="center")
        style.head(figure, "Tuners against the default", f"{name} · dashed: without tuning", 0.012)
        return style.save(figure, stem)


def _bars(axes: Axes, cells: Sequence[Compared | None]) -> None:
    """Draw a bar with its value for each measured tuner, the first on top."""
    largest = max((cell.value for cell in cells if cell), default=0.0)
    texts = value_texts([cell.value if cell else math.nan for cell in cells])
    for at, (cell, text) in enumerate(zip(cells, texts, strict=True)):
        if cell is None:
            continue
        colour = _DEFAULT if cell.tuner == "default" else _TUNED
        axes.barh(at, cell.value, height=0.78, color=colour, alpha=0.85, linewidth=0)
        axes.text(cell.value + largest * 0.02, at, text, va="center", fontsize=8.5, zorder=4, bbox=_HALO)
        if cell.default is not None:
            axes.axvline(cell.default, color=style.INK, linestyle=(0, (3, 2)), linewidth=0.9)
    axes.set_xlim(0, largest * 1.28 or 1)
    axes.set_ylim(len(cells) - 0.5, -0.5)
    axes.set_xticks([])
    axes.tick_params(axis="y", length=0)
    axes.grid(False)
    axes.spines["bottom"].set_visible(False)
