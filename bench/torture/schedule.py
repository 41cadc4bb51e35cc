"""Chooses the next case, and starts the processes that make them: as many at once as there are processors."""

from __future__ import annotations

import contextlib
import os
import selectors
import shutil
import signal
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from bench.torture.bases import Bases
from bench.torture.cases import Case, Family, Report
from bench.torture.commands import adopt_orphans, kill_below, reap
from bench.torture.judge import WRONG, Failure
from bench.torture.state import State

_WHOLE_CORES = 0.1
"""Share of cases that may use all processors, as users do; the others have one, where netwarp starts no helpers."""


@dataclass
class _Flight:
    """A case that is being made."""

    family: str
    seed: int
    pid: int
    root: Path
    begin: float
    answer: bytes = b""


class Schedule:
    """Makes cases until the time is over; each family gets its share of the time."""

    def __init__(self, families: Mapping[str, Family], bases: Bases, state: State, work: Path, directory: Path) -> None:
        self._families, self._bases, self._state = families, bases, state
        self._work, self._directory = work, directory
        self._processors = sorted(os.sched_getaffinity(0))
        self._flights: dict[int, _Flight] = {}
        self._number = 0

    def run(self, seconds: float, jobs: int, tell: Callable[[Report], None]) -> None:
        """Make cases until `seconds` have been spent in total; `tell` is called with each."""
        selector = selectors.DefaultSelector()
        before, begin = self._state.seconds, time.monotonic()
        try:
            while True:
                self._state.seconds = before + time.monotonic() - begin
                while len(self._flights) < jobs and self._state.seconds < seconds:
                    reader = self._take_off(self._next_family())
                    selector.register(reader, selectors.EVENT_READ)
                if not self._flights:
                    break
                for key, _ in selector.select(timeout=1.0):
                    reader = int(key.fd)
                    if content := os.read(reader, 1 << 16):
                        self._flights[reader].answer += content
                    else:
                        selector.unregister(reader)
                        self._land(reader, tell)
        finally:
            for flight in self._flights.values():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(flight.pid, signal.SIGTERM)
                os.waitpid(flight.pid, 0)
                shutil.rmtree(flight.root, ignore_errors=True)
            self._state.save(self._directory)

    def _next_family(self) -> str:
        """The family that is furthest behind its share, running cases included."""
        now = time.monotonic()

        def spent(name: str) -> float:
            count = self._state.families.get(name)
            flying = sum(now - flight.begin + 1 for flight in self._flights.values() if flight.family == name)
            return ((count.seconds if count else 0.0) + flying) / self._families[name].share

        return min(self._families, key=spent)

    def _take_off(self, name: str) -> int:
        """Fork a process that makes the next case of a family; return where its report can be read."""
        seed = self._state.seed_of(name, {flight.seed for flight in self._flights.values() if flight.family == name})
        self._number += 1
        root = self._work / f"{self._number}"
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(reader)
            try:
                processor = self._processors[self._number % len(self._processors)]
                report = make(self._families[name], seed, root, self._bases, processor)
                with os.fdopen(writer, "wb") as file:
                    file.write(report.to_json())
            except BaseException:
                traceback.print_exc()
            os._exit(0)
        os.close(writer)
        self._flights[reader] = _Flight(name, seed, pid, root, time.monotonic())
        return reader

    def _land(self, reader: int, tell: Callable[[Report], None]) -> None:
        flight = self._flights.pop(reader)
        os.close(reader)
        os.waitpid(flight.pid, 0)
        if flight.answer:
            report = Report.from_json(flight.answer)
        else:
            report = Report(flight.family, flight.seed)
            report.failures.append(Failure(WRONG, "the case itself ended without a report; standard error says why"))
        self._state.add(report)
        self._state.save(self._directory)
        if report.failures:
            keep(flight.root, report, self._directory)
        shutil.rmtree(flight.root, ignore_errors=True)
        tell(report)


def make(family: Family, seed: int, root: Path, bases: Bases, processor: int | None = None) -> Report:
    """Make a case in this process, which becomes the parent of its orphans."""
    adopt_orphans()
    signal.signal(signal.SIGTERM, _give_up)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to all; the counting process ends the cases
    begin = time.monotonic()
    case = Case.begin(family.name, seed, root, bases, processor)
    if case.rng.random() < _WHOLE_CORES:
        case.processor = None
    try:
        family.attack(case)
    except Exception:
        case.fail(WRONG, f"the case itself: {traceback.format_exc()[-1500:]}")
    reap()
    case.report.seconds = time.monotonic() - begin
    return case.report


def _give_up(*_: object) -> None:
    """End this process with all that the case has started."""
    kill_below()
    os._exit(1)


def keep(root: Path, report: Report, directory: Path) -> Path:
    """Keep the files of a case that failed, with its report."""
    place = directory / "failures" / f"{report.family}-{report.seed}"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    for path in root.iterdir() if root.exists() else ():
        with contextlib.suppress(OSError, shutil.Error):
            path.rename(place / path.name) if path.is_dir() else shutil.copy2(path, place / path.name)
    lines = [report.name, f"input: {report.what}", "", *report.commands, ""]
    lines += [f"{failure.kind}: {failure.detail}" for failure in report.failures]
    (place / "REPORT.txt").write_text("\n".join(lines) + "\n", errors="replace")
    return place
