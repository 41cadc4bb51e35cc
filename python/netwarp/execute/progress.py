"""Progress of a plan for the user: a bar on a terminal, plain lines elsewhere, all on standard error."""

import threading
import time
from collections.abc import Callable, Iterable
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn

from netwarp.engines import Outcome
from netwarp.execute.execution import RunEvent
from netwarp.plan import Plan, Run
from netwarp.store.run_status import RunStatus


class ProgressBar:
    """A bar on a terminal, followed by the caller's text and further columns; nothing elsewhere."""

    def __init__(self, console: Console, *columns: ProgressColumn) -> None:
        self._progress = (
            Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.fields[words]}"),
                *columns,
                console=console,
                transient=True,
            )
            if console.is_terminal
            else None
        )

    @property
    def is_shown(self) -> bool:
        """Whether a bar is shown."""
        return self._progress is not None

    def start(self, description: str, total: int | None) -> None:
        """Show the bar."""
        if self._progress is not None:
            self._task = self._progress.add_task(description, total=total, words="")
            self._progress.start()

    def update(self, completed: int, words: str, *, description: str | None = None, total: int | None = None) -> None:
        """Move the bar on; a None leaves its description or total as it is."""
        if self._progress is not None:
            self._progress.update(self._task, completed=completed, words=words, description=description, total=total)

    def stop(self) -> None:
        """Remove the bar."""
        if self._progress is not None:
            self._progress.stop()


class RunProgress:
    """Counts runs done, failed and running, with their rate and the time left. Use as a context manager."""

    def __init__(self, plan: Plan, console: Console, printed: Callable[[Run], Iterable[str]] = lambda run: ()) -> None:
        """`printed` gives the last lines that a failed run's command printed, which are shown with the failure."""
        self._console = console
        self._printed = printed
        self._total = len(plan)
        self._lock = threading.Lock()
        self._begin = time.monotonic()
        self._done = self._failed = self._running = self._kept = 0
        self._bar = ProgressBar(console, TimeRemainingColumn())

    def __enter__(self) -> "RunProgress":
        self._bar.start("runs", self._total)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def __call__(self, event: RunEvent, run: Run, outcome: Outcome | None) -> None:
        """Take an event of a run: it starts, ends with `outcome`, or was there already."""
        with self._lock:
            self._count(event, outcome)
            if event == RunEvent.END and outcome is not None:
                self._report(run, outcome)
            self._bar.update(self._done + self._kept, self._state())

    def _count(self, event: RunEvent, outcome: Outcome | None) -> None:
        if event == RunEvent.START:
            self._running += 1
        elif event == RunEvent.KEPT:
            self._kept += 1
        else:
            self._running -= 1
            self._done += 1
            self._failed += outcome is not None and outcome.status == RunStatus.FAILED

    def _state(self) -> str:
        minutes = max(time.monotonic() - self._begin, 1e-6) / 60
        parts = [f"{self._running} running", f"{self._done / minutes:.0f} runs/min"]
        if self._failed:
            parts.insert(0, f"[red]{self._failed} failed[/red]")
        return ", ".join(parts)

    def _report(self, run: Run, outcome: Outcome) -> None:
        number = f"[{self._done + self._kept}/{self._total}]"
        if outcome.status != RunStatus.OK:
            self._say(f"{number} {run.label}: {outcome.status}: {outcome.reason}", "red")
            if outcome.status == RunStatus.FAILED:
                for line in self._printed(run):
                    self._say(f"    {line}")
        elif not self._bar.is_shown:
            self._say(f"{number} {run.label}: ok, {outcome.facts.get('real_s', 0.0):.2f} s")
        for note in outcome.notes:
            self._say(f"{number} {run.label}: note: {note}", "yellow")

    def _say(self, text: str, style: str | None = None) -> None:
        self._console.print(text, style=style, markup=False, highlight=False, soft_wrap=True)
