"""The figure: a stretch of the queue with its average, and how often RED drops at each average."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from netwarp.analysis.queue.red import Red
from netwarp.plots import style
from netwarp.plots.colours import CATEGORICAL
from netwarp.studies.red_law.analysis import Arrivals, Step

_HEIGHT_IN = 4.8
_STRETCH_S = 0.1
_FROM_S = 1.0
_LEGEND: dict[str, Any] = {"fontsize": 7.5, "handlelength": 1.2, "handletextpad": 0.4, "borderpad": 0.1}
_QUEUE, _AVERAGE, _DROPPED = "#b0b0b0", CATEGORICAL[0], CATEGORICAL[1]


def draw(red: Red, arrivals: Sequence[Arrivals], steps: Sequence[Step], name: str, stem: Path) -> list[Path]:
    """Draw two panels side by side; return the files. Raises StoreError."""
    with style.drawing_wide():
        figure = style.new_figure(_HEIGHT_IN)
        left, right = figure.subplots(1, 2, width_ratios=(1, 1.3))
        figure.subplots_adjust(left=0.075, right=0.985, top=0.735, bottom=0.125, wspace=0.22)
        _stretch(left, red, arrivals[len(arrivals) // 2])
        _law(right, red, steps)
        runs = f"{len(arrivals)} runs" if len(arrivals) > 1 else "one run"
        packets = sum(step.packets for step in steps)
        subtitle = f"{name} · {packets:,} packets of {runs} · vertical lines: 95 % interval".replace(",", "\u2009")
        style.head(figure, "RED: its average, and how often it drops", subtitle, 0.012)
        return style.save(figure, stem)


def _stretch(axes: Axes, red: Red, run: Arrivals) -> None:
    """Draw the queue that one run's packets found, and RED's average of it."""
    begin = float(run.time_s[0]) + _FROM_S if run.time_s[-1] - run.time_s[0] > _FROM_S + _STRETCH_S else run.time_s[0]
    shown = (run.time_s >= begin) & (run.time_s < begin + _STRETCH_S)
    time_s = run.time_s[shown]
    axes.plot(time_s, run.backlog_bytes[shown] / 1e3, color=_QUEUE, linewidth=0.8, label="queue")
    axes.plot(time_s, run.average_bytes[shown] / 1e3, color=_AVERAGE, linewidth=1.8, label="RED's average")
    lost = shown & run.dropped
    axes.plot(run.time_s[lost], run.average_bytes[lost] / 1e3, "o", color=_DROPPED, markersize=3.5, label="dropped")
    for value, text in ((red.min_bytes, "min"), (red.max_bytes, "max")):
        axes.axhline(value / 1e3, color=style.MUTED, linestyle=":")
        axes.text(time_s[-1], value / 1e3, f" {text}", va="bottom", ha="right", fontsize=9, color=style.MUTED)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("time (s)")
    axes.set_title(f"Queue found on arrival (kB) · {run.label}", fontsize=10, loc="left", pad=34)
    axes.legend(loc="lower left", bbox_to_anchor=(-0.02, 0.99), ncols=3, **_LEGEND)


def _law(axes: Axes, red: Red, steps: Sequence[Step]) -> None:
    """Draw the dropped fraction over the average: as measured, by the law, and by p_b alone."""
    average = np.linspace(red.min_bytes * 0.6, red.max_bytes - 1, 300)
    base, law = 100 * red.base_probability(average), 100 * red.drop_fraction(average)
    axes.plot(average / 1e3, base, "--", color=CATEGORICAL[2], label="p_b alone")
    axes.plot(average / 1e3, law, color=_AVERAGE, label="law: 2 p_b / (1 + p_b)")
    within = [step for step in steps if step.average_bytes < red.max_bytes and step.law < 2 * red.max_p]
    for step in within:
        axes.plot([step.average_bytes / 1e3] * 2, [100 * step.low, 100 * step.high], color=style.INK, linewidth=1.4)
    places = [step.average_bytes / 1e3 for step in within]
    # When the average crosses min or max, counting restarts, and fewer packets are dropped than at a steady average.
    expected = [100 * step.expected / step.packets for step in within]
    axes.plot(places, expected, "s", color=_AVERAGE, markersize=7, fillstyle="none", label="law, by packet")
    axes.plot(places, [100 * step.fraction for step in within], "o", color=style.INK, markersize=4.5, label="measured")
    for value, text in ((red.min_bytes, "min"), (red.max_bytes, "max")):
        axes.axvline(value / 1e3, color=style.MUTED, linestyle=":")
        axes.text(value / 1e3, axes.get_ylim()[1], f"{text} ", va="top", ha="right", fontsize=9, color=style.MUTED)
    axes.set_xlabel("RED's average of the queue (kB)")
    axes.set_title("Dropped on arrival (%); beyond max all", fontsize=10, loc="left", pad=34)
    axes.set_ylim(bottom=0)
    axes.set_xlim(0, red.max_bytes / 1e3 * 1.02)
    axes.legend(loc="lower left", bbox_to_anchor=(-0.02, 0.99), ncols=2, columnspacing=0.7, **_LEGEND)
