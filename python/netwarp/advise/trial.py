"""Runs of candidates in situations under seeds, as ordinary results, and their measurements."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import polars as pl

from netwarp.advise.candidates import Candidate
from netwarp.advise.criteria import Values
from netwarp.advise.situations import Situation, scenario_of
from netwarp.common.quantities import count
from netwarp.common.terminal import Terminal
from netwarp.engines import Engine, Outcome
from netwarp.execute.execution import RunEvent
from netwarp.plan import Run
from netwarp.steps.study import make_study
from netwarp.store.run_status import RunStatus


class InterruptedTrialError(KeyboardInterrupt):
    """The runs were interrupted; finished ones are kept, and the same command resumes the others."""


@dataclass
class Trial:
    """Runs by candidate, situation and seed; `failures` are the reasons of those that do not count, by candidate."""

    runs: dict[tuple[str, str, int], Values] = field(default_factory=dict)
    failures: dict[str, list[str]] = field(default_factory=dict)
    made: int = 0

    def add(self, other: "Trial") -> None:
        """Add the runs of another trial."""
        self.runs |= other.runs
        self.made += other.made
        for name, reasons in other.failures.items():
            self.failures.setdefault(name, []).extend(reasons)

    def seeds(self, candidate: str, situation: str) -> dict[int, Values]:
        """The runs of a candidate in a situation, by seed."""
        return {
            seed: values for (one, where, seed), values in self.runs.items() if (one, where) == (candidate, situation)
        }


class Meter(Protocol):
    """A receiver of a search's progress."""

    def stage(self, name: str, runs: int) -> None:
        """Begin a stage of this many runs."""

    def run(self, event: RunEvent, run: Run, outcome: Outcome | None) -> None:
        """Something happened to a run."""


class _Silent:
    """A meter that shows nothing."""

    def stage(self, name: str, runs: int) -> None:
        """Show nothing."""

    def run(self, event: RunEvent, run: Run, outcome: Outcome | None) -> None:
        """Show nothing."""


@dataclass(frozen=True)
class Laboratory:
    """The means of executing runs: the engine, the directory of results, the number of runs at once, the reporters."""

    engine: Engine
    directory: Path
    jobs: int | None = None
    report: Callable[[str], None] = lambda text: None
    meter: Meter = field(default_factory=_Silent)

    def run(
        self, stage: str, candidates: Sequence[Candidate], situations: Sequence[Situation], seeds: Sequence[int]
    ) -> Trial:
        """Execute these runs, with a result directory for each situation, or read those that are there already.

        Raises ScenarioError, StoreError, EngineError, InterruptedTrialError.
        """
        total = len(candidates) * len(situations) * len(seeds)
        factors = ((len(candidates), "candidate"), (len(situations), "situation"), (len(seeds), "seed"))
        self.report(f"{stage}: {' × '.join(count(*one) for one in factors)}, {count(total, 'run')}")
        self.meter.stage(stage, total)
        found = Trial()
        cases = {one.name: one.settings for one in candidates}
        for situation in situations:
            scenario = scenario_of(situation.document, cases, f"{stage}, {situation.name}")
            folder = self.directory / stage.replace(",", "").replace(" ", "-") / situation.folder
            study = make_study(
                scenario, self.engine, folder, seeds=list(seeds), jobs=self.jobs, plots=False,
                console=Terminal(stderr=True, quiet=True), heard=self.meter.run,
            )  # fmt: skip
            if study.execution.interrupted:
                raise InterruptedTrialError
            reasons = {run_id: outcome.reason or outcome.status for run_id, outcome in study.execution.done.items()}
            found.add(_read(study.summary, situation.name, reasons))
        found.made = total
        return found


def _read(summary: pl.DataFrame, situation: str, reasons: Mapping[str, str]) -> Trial:
    found = Trial()
    runs: dict[tuple[str, str, int], dict[tuple[str, str], float]] = {}
    columns = ("run_id", "case", "seed", "status", "scope", "name", "metric", "value")
    for run_id, case, seed, status, scope, name, metric, value in summary.select(columns).iter_rows():
        if status != RunStatus.OK:
            reason = f"{situation}, seed {seed}: {status}: {reasons.get(run_id, 'see its status.json')}"
            if reason not in found.failures.setdefault(case, []):
                found.failures[case].append(reason)
        elif scope in ("flow", "run") and value is not None:
            runs.setdefault((case, situation, seed), {})[name, metric] = value
    found.runs |= runs
    return found
