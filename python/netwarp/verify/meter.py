"""Progress over the experiments of a verification: a bar on a terminal, nothing elsewhere."""

from __future__ import annotations

from types import TracebackType

from rich.console import Console
from rich.progress import TimeRemainingColumn

from netwarp.engines import Outcome
from netwarp.execute.execution import RunEvent
from netwarp.execute.progress import ProgressBar
from netwarp.plan import Run


class Meter:
    """Counts experiments, and the runs of the present one; use it as a context manager."""

    def __init__(self, console: Console) -> None:
        self._bar = ProgressBar(console, TimeRemainingColumn())
        self._number = self._runs = 0
        self._name = ""

    def __enter__(self) -> Meter:
        self._bar.start("making experiments", None)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def begun(self, number: int, count: int, name: str) -> None:
        """Show that an experiment begins."""
        self._number, self._runs, self._name = number, 0, name
        self._bar.update(number, name, total=count)

    def heard(self, event: RunEvent, run: Run, outcome: Outcome | None) -> None:
        """Show a run that has ended."""
        if event != RunEvent.START:
            self._runs += 1
            self._bar.update(self._number, f"{self._name}, run {self._runs}")
