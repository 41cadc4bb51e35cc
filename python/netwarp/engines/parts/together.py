"""Executes the machines of a divided network at the same time, and makes one report of theirs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from netwarp.engines.reports import AgentOutcome, End, GuardReport
from netwarp.engines.supervisor import end, end_in_words, read_outcome, start, wait
from netwarp.store.run_status import RunStatus


@dataclass(frozen=True)
class Machine:
    """A machine to execute: its guard's command and the descriptors that this inherits, and its run directory."""

    command: Sequence[str]
    inherited: Sequence[int]
    directory: Path


@dataclass(frozen=True)
class Ended:
    """How a machine ended: its guard's report, or what is known without one, and the report of the agent in it."""

    report: GuardReport | None
    said: str
    outcome: AgentOutcome | None

    @property
    def has_failed(self) -> bool:
        """Whether it did not come to the run's end, nor was ended at the user's wish."""
        if self.report is not None and self.report["end"] == End.CANCELLED:
            return False
        if self.report is None or self.report["end"] != End.ENDED or self.report["exit_status"]:
            return True
        return self.outcome is None or self.outcome["status"] != RunStatus.OK


class _Stop(threading.Event):
    """Set when the user cancels a run, or when this is set itself."""

    def __init__(self, cancelled: threading.Event) -> None:
        super().__init__()
        self._cancelled = cancelled

    def is_set(self) -> bool:
        return super().is_set() or self._cancelled.is_set()


def execute_together(
    machines: Sequence[Machine], limit_s: float, cancelled: threading.Event, started: Callable[[], None]
) -> tuple[int, list[Ended]]:
    """Execute machines that wait for each other. Returns the number of the one that failed first, otherwise 0, and how
    each ended; if one fails, the others are ended, since they would wait for it."""
    stop = _Stop(cancelled)
    failed: list[int] = []

    def execute(number: int) -> Ended:
        machine = machines[number]
        guard = start(machine.command, machine.inherited)
        try:
            if number == len(machines) - 1:
                started()
            report, said = wait(guard, limit_s, stop)
        finally:
            end(guard)
        said = said or end_in_words("guard", "the virtual machine", guard.returncode)
        ended = Ended(cast("GuardReport | None", report), said, read_outcome(machine.directory))
        if ended.has_failed:
            failed.append(number)
            stop.set()
        return ended

    with ThreadPoolExecutor(len(machines)) as pool:
        found = list(pool.map(execute, range(len(machines))))
    return (failed or [0])[0], found


def as_one(ended: Sequence[Ended], first: int) -> GuardReport | None:
    """The report of all machines as if they were one, which ended as the `first` one to fail; None if it has none."""
    report = ended[first].report
    if report is None:
        return None
    reports = [one.report for one in ended if one.report is not None]
    return {
        **report,
        "real_s": max(one["real_s"] for one in reports),
        "own_s": max(one["own_s"] for one in reports),
        "cpu_s": sum(one["cpu_s"] for one in reports),
        "guard_cpu_s": sum(one["guard_cpu_s"] for one in reports),
        "events": sum(one["events"] for one in reports),
    }
