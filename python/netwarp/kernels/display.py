"""Progress of a build for the user: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

_PLAIN_EVERY = 0.25
"""Without a terminal, the share of a step after which another line is printed."""


class Display:
    """A display of a build's steps and the progress of each; a context manager."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TimeElapsedColumn(),
            console=console,
            disable=not console.is_terminal,
            transient=True,
        )
        self._task = self._progress.add_task("", total=None, visible=False)
        self._description = ""
        self._total = 0
        self._done = 0
        self._next_line = 1.0
        self._started = time.monotonic()

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def step(self, description: str, total: int = 0) -> None:
        """Begin a step; `total` is the approximate number of calls of `advance`, 0 if it is not known."""
        self._description, self._total, self._done, self._next_line = description, total, 0, _PLAIN_EVERY
        self._progress.reset(self._task, total=total or None, description=description, visible=True)
        if not self._console.is_terminal:
            self.say(f"{description} …")

    def advance(self) -> None:
        """Count one more item. The total is an estimate, so that 100 % is not shown before the step ends."""
        self._done += 1
        share = min(self._done / self._total, 0.99) if self._total else 0.0
        if self._console.is_terminal:
            self._progress.update(self._task, completed=share * self._total)
        elif share >= self._next_line:
            self.say(f"{self._description}: {self._next_line:.0%}")
            self._next_line += _PLAIN_EVERY

    def say(self, text: str) -> None:
        """Print one line, unwrapped, so that paths in it stay whole."""
        self._console.print(text, soft_wrap=True, highlight=False, markup=False)

    @property
    def seconds(self) -> float:
        """Real seconds since the display was made."""
        return time.monotonic() - self._started
