"""The figure: measurement and theory over the load, and below them their difference."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from netwarp.plots import style
from netwarp.plots.colours import CATEGORICAL
from netwarp.studies.queueing_theory.analysis import QUANTITIES, Compared
from netwarp.studies.queueing_theory.system import System

_HEIGHT_IN = 5.6
_SHOWN = ("time in the system", "packets that wait", "loss")
_MEASURED, _THEORY, _IDEAL = style.INK, CATEGORICAL[0], CATEGORICAL[1]


def draw(system: System, rows: Sequence[Compared], name: str, stem: Path) -> list[Path]:
    """Draw a column for each quantity; return the files. Raises StoreError."""
    shown = [quantity for quantity in _SHOWN if any(row.quantity == quantity for row in rows)]
    with style.drawing_wide():
        figure = style.new_figure(_HEIGHT_IN)
        grid = figure.subplots(2, len(shown), sharex=True, squeeze=False, height_ratios=(2, 1))
        figure.subplots_adjust(left=0.075, right=0.985, top=0.79, bottom=0.095, wspace=0.26, hspace=0.22)
        for column, quantity in enumerate(shown):
            its = [row for row in rows if row.quantity == quantity]
            _above(grid[0, column], system, its)
            _below(grid[1, column], its)
        seeds = max(row.seeds for row in rows)
        title = f"{system.ideal_name if system.exponential else system.name}: theory beside the kernel's queue"
        mean = f"service of {system.service.mean:.4g} ms on average"
        label = "mean of " + (f"{seeds} seeds with its 95 % interval" if seeds > 1 else "one seed")
        style.head(figure, title, f"{name} · {mean} · measured: {label}", 0.012)
        handles, labels = grid[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="upper left", bbox_to_anchor=(0.005, 0.9), ncols=len(labels))
        return style.save(figure, stem)


def _above(axes: Axes, system: System, rows: Sequence[Compared]) -> None:
    quantity = next(one for one in QUANTITIES if one.name == rows[0].quantity)
    loads = np.linspace(0.02, max(row.load for row in rows), 150)
    if system.exponential:
        ideals = [system.ideal(float(load)) for load in loads]
        axes.plot(loads, [quantity.of(one) for one in ideals if one], "--", color=_IDEAL, label=system.ideal_name)
    label = f"{system.name} (sizes as sent)" if system.exponential else system.name
    axes.plot(loads, [quantity.of(system.means(float(load))) for load in loads], color=_THEORY, label=label)
    _points(axes, rows, [row.measured for row in rows], [(row.low, row.high) for row in rows], label="measured")
    axes.set_title(f"{quantity.name[0].upper()}{quantity.name[1:]} ({quantity.unit})", fontsize=10, loc="left")
    axes.set_xlim(0, max(1.0, float(loads[-1]) * 1.05))
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter("{x:g}")


def _below(axes: Axes, rows: Sequence[Compared]) -> None:
    """Draw the differences of the measurement and of the ideal from theory."""
    known = [row for row in rows if row.ratio is not None]
    axes.axhspan(-2, 2, color=_THEORY, alpha=0.12, linewidth=0)
    axes.axhline(0, color=_THEORY)
    if known and known[0].ideal is not None:
        off = [100 * ((row.ideal or 0) / row.theory - 1) for row in known]
        axes.plot([row.load for row in known], off, "--", color=_IDEAL)
    spans = [_percent(row.low, row.theory, row.high) for row in known]
    _points(axes, known, [100 * ((row.ratio or 0) - 1) for row in known], spans)
    axes.set_xlabel("load ρ")
    axes.set_title("off theory (%), band ± 2 %", fontsize=9, loc="left", color=style.MUTED)
    axes.set_xticks(np.arange(0, axes.get_xlim()[1] + 0.01, 0.2))


def _percent(low: float | None, theory: float, high: float | None) -> tuple[float | None, float | None]:
    if low is None or high is None:
        return None, None
    return 100 * (low / theory - 1), 100 * (high / theory - 1)


def _points(
    axes: Axes,
    rows: Sequence[Compared],
    values: Sequence[float],
    spans: Sequence[tuple[float | None, float | None]],
    label: str = "",
) -> None:
    """Draw points with their known intervals."""
    for row, (low, high) in zip(rows, spans, strict=True):
        if low is not None and high is not None:
            axes.plot([row.load, row.load], [low, high], color=_MEASURED, linewidth=1.4, solid_capstyle="butt")
    axes.plot([row.load for row in rows], values, "o", color=_MEASURED, markersize=4.5, label=label, clip_on=False)
