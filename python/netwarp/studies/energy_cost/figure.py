"""The figure: joules for each delivered MB against goodput, delay and fairness; a point for each control and queue."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from matplotlib.artist import Artist
from matplotlib.axes import Axes as Panel
from matplotlib.lines import Line2D

from netwarp.plots import style
from netwarp.plots.values import axis_values
from netwarp.store.result import ResultDir
from netwarp.store.summary import axis_title
from netwarp.studies.energy_cost.analysis import Cost
from netwarp.studies.energy_cost.needs import Axes

_HEIGHT_IN, _FOOT_IN, _GAP_IN, _RIGHT_IN, _LEFT_IN = 2.6, 0.62, 0.3, 0.2, 0.75
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
_ROOM = 0.12
"""The room around the points, in parts of their span."""
_QUANTITIES: tuple[tuple[str, Callable[[Cost], float | None]], ...] = (
    ("goodput (Mbit/s) →", lambda row: row.goodput_mbps),
    ("← RTT of others, 95th percentile (ms)", lambda row: None if row.own_rtt else row.rtt_ms),
    ("← RTT, 95th percentile (ms)", lambda row: row.rtt_ms if row.own_rtt else None),
    ("Jain's fairness index →", lambda row: row.jain),
)
"""The metrics that the energy is drawn against; the arrow points to better values."""


def draw(rows: Sequence[Cost], result: ResultDir, axes: Axes, stem: Path) -> list[Path]:
    """Draw the figure; return the files. Raises StoreError."""
    controls, others = axis_values(result, axes.control), axis_values(result, axes.other)
    shapes = {other: _MARKERS[at % len(_MARKERS)] for at, other in enumerate(dict.fromkeys(row.other for row in rows))}
    shown = [(words, of) for words, of in _QUANTITIES if any(of(row) is not None for row in rows)]
    with style.drawing_wide():
        seeds = max(row.seeds for row in rows)
        title = f"Energy of delivered data, by {axis_title(axes.control)} and {axis_title(axes.other)}"
        subtitle = f"{result.plan.get('name', '')} · " + ("one run each" if seeds == 1 else f"median of {seeds} runs")
        failed = [f"{result.failed} failed run{'s' * (result.failed > 1)} left out"] if result.failed else []
        handles: list[Artist] = [_handle(controls.look(one)[0], "o", controls.label(one)) for one in _each(rows)]
        handles += [_handle(style.MUTED, shape, others.label(other)) for other, shape in shapes.items()]
        wide_in = style.width_in() - _LEFT_IN - _RIGHT_IN
        legend_in = style.legend_rows_in([str(one.get_label()) for one in handles], wide_in)
        head_in = style.head_in(title, subtitle, 0.14, failed) + 0.1
        height_in = head_in + style.tall(_HEIGHT_IN) + _FOOT_IN + legend_in
        figure = style.new_figure(height_in)
        panel_in = (wide_in - _GAP_IN * (len(shown) - 1)) / len(shown)
        for number, (words, of) in enumerate(shown):
            box = (
                (_LEFT_IN + number * (panel_in + _GAP_IN)) / style.width_in(),
                (_FOOT_IN + legend_in) / height_in,
                panel_in / style.width_in(),
                style.tall(_HEIGHT_IN) / height_in,
            )
            panel = figure.add_axes(box)
            for row in rows:
                if (value := of(row)) is not None:
                    colour, shape = controls.look(row.control)[0], shapes[row.other]
                    panel.plot(value, row.j_per_mb, shape, color=colour, markersize=7, alpha=0.85, clip_on=False)
            _limits(panel, [value for row in rows if (value := of(row)) is not None], rows)
            panel.set_xlabel(style.fitted(words, style.points(9.5), panel_in, 2), fontsize=style.points(9.5))
            panel.tick_params(labelsize=style.points(9), labelleft=number == 0)
            panel.locator_params(axis="x", nbins=5)
            if number == 0:
                panel.set_ylabel("← energy per delivered MB (J)", fontsize=style.points(9.5))
        style.legend_below(figure, handles, _LEFT_IN / style.width_in(), 0.06, wide_in)
        style.head(figure, title, subtitle, 0.14 / style.width_in(), failed)
        return style.save(figure, stem)


def _each(rows: Sequence[Cost]) -> list[str]:
    """The controls, each once, in their order."""
    return list(dict.fromkeys(row.control for row in rows))


def _handle(colour: str, shape: str, label: str) -> Line2D:
    return Line2D([], [], color=colour, marker=shape, linestyle="none", markersize=7, label=label)


def _limits(panel: Panel, values: Sequence[float], rows: Sequence[Cost]) -> None:
    """Leave room around the points, so that none is on an edge."""
    joules = [row.j_per_mb for row in rows]
    for found, fix in ((values, panel.set_xlim), (joules, panel.set_ylim)):
        room = (max(found) - min(found)) * _ROOM or abs(max(found)) * _ROOM or 1.0
        fix(min(found) - room, max(found) + room)
