"""A process that draws: it takes pickled tasks on standard input and answers when they are done.

A process of its own rather than a fork: the parent has threads, and a copy of it could wait for a lock for ever.
"""

import contextlib
import os
import pickle
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from netwarp.plots.look import Look, current, looking
from netwarp.plots.timeseries.figure_spec import FigureSpec, Stack
from netwarp.store.errors import StoreError

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


class Helpers:
    """Processes that load what drawing needs while their tasks are still being made. Use as a context manager."""

    def __init__(self, count: int) -> None:
        command = [sys.executable, "-m", "netwarp.plots.timeseries.worker"]
        self._processes = [
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ | _path())
            for _ in range(count)
        ]

    def __enter__(self) -> "Helpers":
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream:
                    with contextlib.suppress(OSError):
                        stream.close()

    def draw(self, tasks: Sequence[Task]) -> list[Path]:
        """Draw the tasks together with the helpers; returns the files. Raises StoreError."""
        parts = shares(tasks, len(self._processes) + 1)
        for process, part in zip(self._processes, parts[1:], strict=True):
            assert process.stdin
            process.stdin.write(pickle.dumps(part))
            process.stdin.close()
        files = draw(parts[0])
        for process in self._processes:
            assert process.stdout
            files += _answer(process.stdout.read())
        return files


def _path() -> dict[str, str]:
    """The parent's module path, so that the helper loads the same netwarp from whatever place."""
    return {"PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}


def _answer(content: bytes) -> list[Path]:
    if not content:
        raise StoreError("a drawing process died; draw the figures again with `netwarp plot`")
    answer = pickle.loads(content)
    if isinstance(answer, str):
        raise StoreError(answer)
    return list(answer)


def main() -> None:
    """Serve one request."""
    from netwarp.plots.timeseries import figure as timeseries  # noqa: F401, PLC0415  (loaded while the parent prepares the tasks)

    tasks = pickle.load(sys.stdin.buffer)
    try:
        answer: list[Path] | str = draw(tasks)
    except StoreError as error:
        answer = str(error)
    sys.stdout.buffer.write(pickle.dumps(answer))


if __name__ == "__main__":
    main()
