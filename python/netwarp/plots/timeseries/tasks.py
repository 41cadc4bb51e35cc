"""Figures as tasks: drawing them, and distributing them over processes."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from netwarp.plots.look import Look, current, looking
from netwarp.plots.timeseries.figure_spec import FigureSpec, Stack

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from netwarp.plots.charts.chart import Chart


@dataclass(frozen=True)
class Task:
    """A figure to draw, over time or of a metric. `stem` is the name of its files without the suffix of the format.

    `alone`: each variant of a figure over time has its own panel.

    `look` is the requested look, which another process does not know.
    """

    spec: "FigureSpec | Stack | Chart"
    stem: Path
    alone: bool
    formats: tuple[str, ...]
    look: Look = field(default_factory=current)


def draw(tasks: Sequence[Task]) -> list[Path]:
    """Draw the tasks in this process; return the files. Raises StoreError."""
    from netwarp.plots import style  # noqa: PLC0415

    files: list[Path] = []
    for task in tasks:
        with looking(task.look), style.drawing():
            files += style.save(figure_of(task.spec, alone=task.alone), task.stem, task.formats)
    return files


def figure_of(spec: "FigureSpec | Stack | Chart", *, alone: bool) -> "Figure":
    """Draw a figure; if `alone`, each variant has its own panel."""
    from netwarp.plots.timeseries.figure import multiples, overlay  # noqa: PLC0415
    from netwarp.plots.timeseries.stack import stacked  # noqa: PLC0415

    if isinstance(spec, Stack):
        return stacked(spec)
    if isinstance(spec, FigureSpec):
        return multiples(spec) if alone else overlay(spec)
    from netwarp.plots.charts.kinds import draw_chart  # noqa: PLC0415

    return draw_chart(spec)


def shares(tasks: Sequence[Task], count: int) -> list[list[Task]]:
    """Distribute the tasks over `count` processes with about equal work, the largest tasks first."""
    parts: list[list[Task]] = [[] for _ in range(count)]
    loads = [0.0] * count
    for task in sorted(tasks, key=_effort, reverse=True):
        least = loads.index(min(loads))
        parts[least].append(task)
        loads[least] += _effort(task)
    return parts


def _effort(task: Task) -> float:
    """The approximate effort of a figure: that of its axes plus that of its lines."""
    if isinstance(task.spec, Stack):
        return 1.0 + sum(map(len, task.spec.columns))
    if not isinstance(task.spec, FigureSpec):
        return 2.0
    return (len(task.spec.shown_alone) if task.alone else 0.4 * len(task.spec.variants)) + 1.0


def load() -> None:
    """Load all modules that `draw` uses, so that it begins at once."""
    for module in ("timeseries.stack", "charts.kinds"):
        import_module(f"netwarp.plots.{module}")
    for kind in ("agg", "svg"):
        import_module(f"matplotlib.backends.backend_{kind}")
