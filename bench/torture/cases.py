"""A case, its report, and the interface of a family of cases."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Protocol

from bench.torture.bases import Bases
from bench.torture.commands import QUICK, Action, Ended, Limits, finish, start
from bench.torture.judge import EXIT_CODES, Failure, judge_end, judge_place
from bench.torture.sandbox import Sandbox


@dataclass
class Report:
    """Report of a case: the number of its attacks, their description, how the commands ended, and the failures."""

    family: str
    seed: int
    attacks: int = 1
    target: str = ""
    commands: list[str] = field(default_factory=list)
    what: str = ""
    failures: list[Failure] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def name(self) -> str:
        """The case's name, FAMILY:SEED."""
        return f"{self.family}:{self.seed}"

    def to_json(self) -> bytes:
        """Encode the report for the process that counts."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def from_json(cls, text: bytes) -> Report:
        """Decode the output of `to_json`."""
        given = json.loads(text)
        given["failures"] = [Failure(**failure) for failure in given["failures"]]
        return cls(**given)


@dataclass
class Case:
    """One attack in progress: its random numbers, its sandbox, the bases that it may use, and its report."""

    report: Report
    rng: random.Random
    place: Sandbox
    bases: Bases
    processor: int | None = None

    @classmethod
    def begin(cls, family: str, seed: int, root: Path, bases: Bases, processor: int | None = None) -> Case:
        """Begin a case of this seed, with an empty sandbox."""
        rng = random.Random(f"{family}:{seed}")
        return cls(Report(family, seed), rng, Sandbox.create(root), bases, processor)

    def note(self, what: str) -> None:
        """Note what was done to the input."""
        self.report.what = f"{self.report.what}; {what}" if self.report.what else what

    def fail(self, kind: str, detail: str) -> None:
        """Record a failure."""
        self.report.failures.append(Failure(kind, detail))

    def netwarp(
        self,
        *arguments: str | Path,
        outputs: Sequence[Path] = (),
        limits: Limits = QUICK,
        action: Action | None = None,
        programs: Path | None = None,
    ) -> Ended:
        """Run `netwarp` with these arguments in a process forked from this one, and judge how it ends.

        Only files at or under `outputs` may change. Programs in the directory `programs` take the
        place of the system's.
        """
        return self._judged(("netwarp", *arguments), outputs, limits, action or command_line, programs)

    def program(self, *arguments: str | Path, outputs: Sequence[Path] = (), limits: Limits = QUICK) -> Ended:
        """Run a program, and judge how it ends."""
        return self._judged(arguments, outputs, limits)

    def _judged(
        self,
        arguments: Sequence[str | Path],
        outputs: Sequence[Path],
        limits: Limits,
        action: Action | None = None,
        programs: Path | None = None,
    ) -> Ended:
        earlier = self.place.snapshot(outputs)
        environment = self.place.environment()
        if programs is not None:
            environment["PATH"] = f"{programs}:{environment['PATH']}"
        running = start(
            arguments,
            cwd=self.place.work,
            environment=environment,
            logs=self.place.root,
            action=action,
            processor=self.processor,
        )
        ended = finish(running, limits)
        self.judge(ended)
        self.report.failures += judge_place(earlier, self.place.snapshot(outputs))
        return ended

    def judge(self, ended: Ended, codes: frozenset[int] = EXIT_CODES) -> None:
        """Note a command and any error in how it ended."""
        self.report.commands.append(f"{ended.command}  → {ended.status}")
        self.report.failures += judge_end(ended, codes)


def command_line(words: Sequence[str]) -> object:
    """Do what the command `netwarp` does."""
    import sys  # noqa: PLC0415

    from netwarp.cli import main  # noqa: PLC0415

    sys.argv = list(words)
    main()


class Family(Protocol):
    """A kind of attack."""

    name: str
    unit: str
    """The unit that is counted."""
    share: float
    """Its share of the time."""

    def attack(self, case: Case) -> None:
        """Make the case's attack, and write the outcome into the case's report."""
