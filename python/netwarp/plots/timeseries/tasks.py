"""Figures as tasks: how they are drawn, and dealt out to the processes that draw them."""

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
    """A figure to draw, over time with all variants in one or each `alone`, or of a metric; files are `stem` and a
    format's ending.

    `look` is how it was asked to look, which a process of its own does not know.
    """

    spec: "FigureSpec | Stack | Chart"
    stem: Path
    alone: bool
    formats: tuple[str, ...]
    look: Look = field(default_factory=current)


def draw(tasks: Sequence[Task]) -> list[Path]:
    """Draw the tasks in this process; returns the files. Raises StoreError."""
    from netwarp.plots import style  # noqa: PLC0415

    files: list[Path] = []
    for task in tasks:
        with looking(task.look), style.drawing():
            files += style.save(figure_of(task.spec, alone=task.alone), task.stem, task.formats)
    return files


def figure_of(spec: "FigureSpec | Stack | Chart", *, alone: bool) -> "Figure":
    """The figure as drawn; if `alone`, each variant has a panel of its own."""
    from netwarp.plots.timeseries.figure import multiples, overlay  # noqa: PLC0415
    from netwarp.plots.timeseries.stack import stacked  # noqa: PLC0415

    if isinstance(spec, Stack):
        return stacked(spec)
    if isinstance(spec, FigureSpec):
        return multiples(spec) if alone else overlay(spec)
    from netwarp.plots.charts.kinds import draw_chart  # noqa: PLC0415

    return draw_chart(spec)


def shares(tasks: Sequence[Task], count: int) -> list[list[Task]]:
    """The tasks dealt out to `count` processes so that each has about as much to do: the largest first."""
    parts: list[list[Task]] = [[] for _ in range(count)]
    loads = [0.0] * count
    for task in sorted(tasks, key=_effort, reverse=True):
        least = loads.index(min(loads))
        parts[least].append(task)
        loads[least] += _effort(task)
    return parts


def _effort(task: Task) -> float:
    """About how long a figure takes: what its axes cost, and what its lines cost."""
    if isinstance(task.spec, Stack):
        return 1.0 + sum(map(len, task.spec.columns))
    if not isinstance(task.spec, FigureSpec):
        return 2.0
    return (len(task.spec.shown_alone) if task.alone else 0.4 * len(task.spec.variants)) + 1.0


def load() -> None:
    """Load all that `draw` uses, so that it begins at once."""
    for module in ("timeseries.stack", "charts.kinds"):
        import_module(f"netwarp.plots.{module}")
    for kind in ("agg", "svg"):
        import_module(f"matplotlib.backends.backend_{kind}")
