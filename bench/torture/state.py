"""Counts so far, in a file, so that an interrupted torture can be continued."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path

from bench.torture.cases import Report
from bench.torture.judge import KINDS

STATE = "state.json"


@dataclass
class Count:
    """Counts of one family. `next` is its first seed that has not been made, `ahead` those made beyond it."""

    cases: int = 0
    attacks: int = 0
    seconds: float = 0.0
    next: int = 0
    ahead: list[int] = field(default_factory=list)
    targets: dict[str, int] = field(default_factory=dict)
    failures: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))

    def add(self, report: Report) -> None:
        """Count a case."""
        self.cases += 1
        self.attacks += report.attacks
        self.seconds += report.seconds
        if report.target:
            self.targets[report.target] = self.targets.get(report.target, 0) + report.attacks
        for kind, number in Counter(failure.kind for failure in report.failures).items():
            self.failures[kind] += number
        self.ahead.append(report.seed)
        while self.next in self.ahead:
            self.ahead.remove(self.next)
            self.next += 1


@dataclass
class State:
    """All counts, the `tree` that they apply to, and the cases that failed: FAMILY:SEED → the failure."""

    tree: str
    seed: int
    seconds: float = 0.0
    families: dict[str, Count] = field(default_factory=dict)
    failed: dict[str, list[str]] = field(default_factory=dict)

    @classmethod
    def load(cls, directory: Path, tree: str, seed: int) -> State | None:
        """Load the last state; None if there is none, or it is of another tree or another first seed."""
        try:
            given = json.loads((directory / STATE).read_text())
        except (OSError, ValueError):
            return None
        if (given["tree"], given["seed"]) != (tree, seed):
            return None
        given["families"] = {name: Count(**count) for name, count in given["families"].items()}
        return cls(**given)

    def save(self, directory: Path) -> None:
        """Write the state atomically."""
        directory.mkdir(parents=True, exist_ok=True)
        temporary = directory / f".{STATE}"
        temporary.write_text(json.dumps(asdict(self), indent=1))
        temporary.replace(directory / STATE)

    def add(self, report: Report) -> None:
        """Count a case."""
        self.families.setdefault(report.family, Count(next=self.seed)).add(report)
        if report.failures:
            self.failed[report.name] = [failure.brief for failure in report.failures]

    def seed_of(self, family: str, in_flight: set[int]) -> int:
        """The next seed of a family that is neither made nor in progress."""
        count = self.families.setdefault(family, Count(next=self.seed))
        seed = count.next
        while seed in in_flight or seed in count.ahead:
            seed += 1
        return seed
