"""The present state of a result, read from its directory repeatedly, without writing into it."""

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from pathlib import Path

import polars as pl

from netwarp.analysis.summary.harm import with_harm
from netwarp.store.digests import changed_files
from netwarp.store.errors import StoreError
from netwarp.store.lock import holder
from netwarp.store.result import ResultDir, open_result
from netwarp.store.run_status import WRITTEN, RunStatus
from netwarp.store.summary import PlannedRun, RunOutcome, summary_frame

_RECENT = 30
"""The number of recent runs from which the rate is estimated."""


class State(StrEnum):
    """The state of a planned run."""

    WAITING = "waiting"
    RUNNING = "running"
    OK = RunStatus.OK
    SUSPECT = RunStatus.SUSPECT
    FAILED = RunStatus.FAILED


MADE = (State.OK, State.SUSPECT, State.FAILED)


@dataclass(frozen=True)
class RunState:
    """A planned run, its state, and the reason if it failed or is suspect."""

    run: PlannedRun
    state: State
    reason: str


@dataclass(frozen=True)
class Progress:
    """All runs of a result in the plan's order, whether some are being made, and the seconds left, if known."""

    runs: Sequence[RunState]
    live: bool
    left_s: float | None

    @cached_property
    def counts(self) -> Counter[State]:
        """The number of runs in each state."""
        return Counter(one.state for one in self.runs)

    @property
    def made(self) -> int:
        """The number of runs that have been made, including failed ones."""
        return sum(self.counts[state] for state in MADE)

    @property
    def complete(self) -> bool:
        """Whether every run has been made."""
        return self.made == len(self.runs)


@dataclass
class Watched:
    """A result directory that is read repeatedly; unchanging parts are read once."""

    name: str
    path: Path
    _outcomes: dict[str, tuple[int, RunOutcome]] = field(default_factory=dict)
    _intact: dict[str, int] = field(default_factory=dict)

    @cached_property
    def result(self) -> ResultDir:
        """The result. Raises StoreError."""
        return open_result(self.path)

    def progress(self) -> Progress:
        """The present state of every run. Raises StoreError."""
        entries = self._entries()
        live = holder(self.path) is not None
        running = {name.split(".", 1)[0] for name in entries if name.endswith(".part")} if live else set()
        runs = [self._state(run, entries, running) for run in self.result.planned]
        return Progress(runs, live, _left(entries, runs) if live else None)

    def outcomes(self) -> list[RunOutcome]:
        """Status and metrics of every planned run, in the plan's order. Raises StoreError."""
        entries = self._entries()
        return [self._outcome(run, entries) for run in self.result.planned]

    def summary(self) -> pl.DataFrame:
        """The rows of `summary.parquet` for the existing runs. Raises StoreError."""
        return with_harm(summary_frame(self.result.axes, self.outcomes()), self.result.axes)

    def verify(self, run_ids: Sequence[str]) -> None:
        """Raise StoreError if the records of a run have changed since it was made."""
        entries = self._entries()
        for run_id in run_ids:
            if run_id in entries and self._intact.get(run_id) != entries[run_id]:
                if changed := changed_files(self.result.run(run_id).path):
                    raise StoreError(
                        f"{self.path} is damaged: runs/{run_id}/{changed[0]} changed since the run was made "
                        "(digests.json); remove the run's directory and give the same `netwarp run` again"
                    )
                self._intact[run_id] = entries[run_id]

    def _entries(self) -> dict[str, int]:
        """The directories of runs, made and being made, with the time of their last change in ns."""
        try:
            with os.scandir(self.path / "runs") as found:
                return {
                    entry.name: entry.stat(follow_symlinks=False).st_mtime_ns
                    for entry in found
                    if entry.is_dir(follow_symlinks=False)
                }
        except FileNotFoundError:
            return {}  # also if a run was renamed meanwhile; the next call sees it
        except OSError as error:
            raise StoreError(f"cannot read {self.path / 'runs'}: {error.strerror}") from error

    def _state(self, run: PlannedRun, entries: dict[str, int], running: set[str]) -> RunState:
        if run.id not in entries:
            return RunState(run, State.RUNNING if run.id in running else State.WAITING, "")
        outcome = self._outcome(run, entries)
        state = State(outcome.status) if outcome.status in WRITTEN else State.FAILED
        return RunState(run, state, outcome.reason or "")

    def _outcome(self, run: PlannedRun, entries: dict[str, int]) -> RunOutcome:
        if run.id not in entries:
            return RunOutcome(run, RunStatus.MISSING, "it has not been made", None)
        known = self._outcomes.get(run.id)
        if known is None or known[0] != entries[run.id]:
            known = (entries[run.id], self.result.outcome(run))
            self._outcomes[run.id] = known
        return known[1]


def _left(entries: dict[str, int], runs: Sequence[RunState]) -> float | None:
    """Seconds until all runs are made, at the rate of the last ones; None if unknown."""
    made = sorted(entries[one.run.id] for one in runs if one.state in MADE)[-_RECENT:]
    missing = sum(one.state not in MADE for one in runs)
    if len(made) < 3 or made[-1] == made[0]:
        return None
    return missing * (made[-1] - made[0]) / 1e9 / (len(made) - 1)
