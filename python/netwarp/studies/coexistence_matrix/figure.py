"""The figure: two maps of the pairs, share on the left and harm on the right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from netwarp.plots import style
from netwarp.plots.values import axis_values
from netwarp.store.result import ResultDir
from netwarp.store.summary import axis_title
from netwarp.studies.coexistence_matrix.analysis import Pair

_CELL_IN = 0.55
_HEAD_GAP_IN, _TITLE_IN, _FOOT_IN, _GAP_IN, _RIGHT_IN = 0.1, 0.3, 0.75, 0.45, 0.15
_WHITE_FROM = 0.3
"""The distance from the middle of the colours from which numbers are white."""


@dataclass(frozen=True)
class _Map:
    """One of the maps: its title, its colours, and its value for each pair of controls."""

    words: str
    colours: str
    values: Mapping[tuple[str, str], float]


def draw(rows: Sequence[Pair], result: ResultDir, axes: Sequence[str], stem: Path) -> list[Path]:
    """Draw the figure; return the files. Raises StoreError."""
    known = [axis_values(result, axis) for axis in axes]
    owns, others = list(dict.fromkeys(row.own for row in rows)), list(dict.fromkeys(row.other for row in rows))
    values = {(row.own, row.other): row for row in rows}
    harmed = any(row.harm is not None for row in rows)
    maps = [_Map("share of the goodput of both", "RdBu", {place: row.share for place, row in values.items()})]
    if harmed:
        lost = {place: row.harm for place, row in values.items() if row.harm is not None}
        maps.append(_Map("harm: what is lost of the goodput alone", "Reds", lost))
    with style.drawing_wide():
        names = [known[0].label(own) for own in owns]
        heads = [known[1].label(other) for other in others]
        seeds = max(row.seeds for row in rows)
        title = f"What a flow gets beside another, by {axis_title(axes[0])} and {axis_title(axes[1])}"
        subtitle = f"{result.plan.get('name', '')} · " + ("one run each" if seeds == 1 else f"median of {seeds} runs")
        left_in = 0.5 + max(style.text_in(name, style.points(9)) for name in names)
        failed = f"{result.failed} failed run{'s' * (result.failed > 1)} left out"
        out = [failed] if result.failed else []
        head_in = style.head_in(title, subtitle, 0.14, out) + _HEAD_GAP_IN
        panel_in = _CELL_IN * len(owns)
        height_in = head_in + _TITLE_IN + panel_in + _FOOT_IN
        wide_in = (style.width_in() - left_in - _RIGHT_IN - _GAP_IN * (len(maps) - 1)) / len(maps)
        figure = style.new_figure(height_in)
        for number, one in enumerate(maps):
            grid = np.array([[one.values.get((own, other), np.nan) for other in others] for own in owns])
            box = (
                (left_in + number * (wide_in + _GAP_IN)) / style.width_in(),
                _FOOT_IN / height_in,
                wide_in / style.width_in(),
                panel_in / height_in,
            )
            panel = figure.add_axes(box)
            _map(panel, grid, one.colours)
            panel.set_title(style.fitted(one.words, style.points(10), wide_in), fontsize=style.points(10), loc="left")
            panel.set_xticks(
                range(len(heads)), [style.fitted(head, style.points(9), wide_in / len(heads)) for head in heads]
            )
            panel.set_yticks(range(len(names)), names if number == 0 else [""] * len(names))
            panel.set_xlabel(f"beside {axis_title(axes[1])}")
            if number == 0:
                panel.set_ylabel(axis_title(axes[0]))
        style.head(figure, title, subtitle, 0.14 / style.width_in(), out)
        return style.save(figure, stem)


def _map(axes: Axes, grid: np.ndarray, colours: str) -> None:
    """Draw a map with its numbers; harm below 0, which is a gain, has the colour of 0."""
    axes.imshow(np.ma.masked_invalid(grid), aspect="auto", cmap=colours, vmin=0.0, vmax=1.0)
    for (row, column), value in np.ndenumerate(grid):
        text = f"{value:.2f}" if np.isfinite(value) else "–"
        dark = np.isfinite(value) and (value > 1 - _WHITE_FROM / 2 or (colours == "RdBu" and value < _WHITE_FROM / 2))
        axes.text(column, row, text, ha="center", va="center", color="white" if dark else style.INK)
    axes.tick_params(length=0)
    axes.grid(False)
    axes.spines[:].set_visible(False)
