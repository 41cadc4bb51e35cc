"""What a person sees while a plan is executed: a bar on a terminal, plain lines elsewhere. Everything to stderr."""

import threading
import time
from collections.abc import Callable, Iterable
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from netwarp.engines import Outcome
from netwarp.plan import Plan, Run


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
        self._bar: Progress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> "RunProgress":
        if self._console.is_terminal:
            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.fields[state]}"),
                TimeRemainingColumn(),
                console=self._console,
                transient=True,
            )
            self._task = self._bar.add_task("runs", total=self._total, state="")
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar:
            self._bar.stop()

    def __call__(self, event: str, run: Run, outcome: Outcome | None) -> None:
        """Hear of a run: it starts, ends with `outcome`, or was there already."""
        with self._lock:
            self._count(event, outcome)
            if event == "end" and outcome is not None:
                self._report(run, outcome)
            if self._bar is not None and self._task is not None:
                self._bar.update(self._task, completed=self._done + self._kept, state=self._state())

    def _count(self, event: str, outcome: Outcome | None) -> None:
        if event == "start":
            self._running += 1
        elif event == "kept":
            self._kept += 1
        else:
            self._running -= 1
            self._done += 1
            self._failed += outcome is not None and outcome.status == "failed"

    def _state(self) -> str:
        minutes = max(time.monotonic() - self._begin, 1e-6) / 60
        parts = [f"{self._running} running", f"{self._done / minutes:.0f} runs/min"]
        if self._failed:
            parts.insert(0, f"[red]{self._failed} failed[/red]")
        return ", ".join(parts)

    def _report(self, run: Run, outcome: Outcome) -> None:
        number = f"[{self._done + self._kept}/{self._total}]"
        if outcome.status != "ok":
            self._say(f"{number} {run.label}: {outcome.status}: {outcome.reason}", "red")
            if outcome.status == "failed":
                for line in self._printed(run):
                    self._say(f"    {line}")
        elif self._bar is None:
            self._say(f"{number} {run.label}: ok, {outcome.facts.get('real_s', 0.0):.2f} s")
        for note in outcome.notes:
            self._say(f"{number} {run.label}: note: {note}", "yellow")

    def _say(self, text: str, style: str | None = None) -> None:
        self._console.print(text, style=style, markup=False, highlight=False, soft_wrap=True)
