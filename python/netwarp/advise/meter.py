"""Progress of a search and its remaining time: a bar on a terminal, a line at intervals elsewhere."""

import threading
import time
from types import TracebackType

from rich.console import Console

from netwarp.engines import Outcome
from netwarp.execute.execution import RunEvent
from netwarp.execute.progress import ProgressBar
from netwarp.plan import Run

_EVERY_S = 10.0
_FEW = 4
"""The number of finished runs from which their pace is used."""


class SearchMeter:
    """A counter of a search's runs; use it as a context manager."""

    def __init__(self, console: Console) -> None:
        self._most = self._after = 0
        self._console = console
        self._lock = threading.Lock()
        self._begin = self._said = time.monotonic()
        self._done = self._kept = 0
        self._stage = ""
        self._bar = ProgressBar(console)

    def __enter__(self) -> "SearchMeter":
        self._bar.start("checking the question", None)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def expect(self, most: int, after: int) -> None:
        """Set the maximum number of runs, and the approximate number of those `after` the final (flips)."""
        self._most, self._after = most, after
        self._begin = time.monotonic()

    def stage(self, name: str, runs: int) -> None:
        """Begin a stage of this many runs; the final determines the maximum number of all runs."""
        with self._lock:
            self._stage = name
            if name == "final":
                self._most = self._done + self._kept + runs + self._after
            self._most = max(self._most, self._done + self._kept + runs)
            self._show()

    def run(self, event: RunEvent, run: Run, outcome: Outcome | None) -> None:
        """Count a run that ends or was there already."""
        with self._lock:
            self._kept += event == RunEvent.KEPT
            self._done += event == RunEvent.END
            if event != RunEvent.START:
                self._show()

    @property
    def left(self) -> str:
        """The maximum remaining time at the pace so far, in words; empty if it is not known yet."""
        if self._done < _FEW:
            return ""
        each_s = (time.monotonic() - self._begin) / self._done
        return f"at most {time_words(each_s * max(self._most - self._done - self._kept, 0))} left"

    def _show(self) -> None:
        counted = self._done + self._kept
        self._bar.update(counted, self.left, description=self._stage, total=self._most)
        if not self._bar.is_shown and self.left and time.monotonic() - self._said >= _EVERY_S:
            self._said = time.monotonic()
            text = f"{self._stage}: {counted} of at most {self._most} runs, {self.left}"
            self._console.print(text, markup=False, highlight=False, soft_wrap=True)


def time_words(seconds: float) -> str:
    """Format seconds in words: `20 s`, `1 min 40 s`, `12 min`."""
    if seconds < 60:
        return f"{max(round(seconds), 1)} s"
    if seconds < 600:
        minutes, rest = divmod(round(seconds / 10) * 10, 60)
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    return f"{round(seconds / 60)} min"
