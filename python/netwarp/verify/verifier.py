"""Makes the experiments of rows, each once, and judges the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from netwarp.scenario import Scenario, load_scenario, parse_scenario
from netwarp.steps.evaluation import Study
from netwarp.store.run_status import RunStatus
from netwarp.verify.row import Checked, Experiment, Family, Row, judge

Make = Callable[[Scenario, Path], Study]
"""Makes the study of a scenario in a directory."""


class InterruptedByUser(Exception):
    """The user ended an experiment; what was measured is kept in the directory."""


@dataclass(frozen=True)
class Verified:
    """The rows of a family with their verdicts."""

    family: Family
    rows: tuple[Checked, ...]


def verify(chosen: Sequence[tuple[Family, Row]], directory: Path, make: Make) -> list[Verified]:
    """Measure the rows in `directory`, an experiment in a folder each, and judge them.

    Raises ScenarioError, EngineError, StoreError, InterruptedByUser.
    """
    studies: dict[Experiment, Study] = {}
    verified = []
    for family, rows in groupby(chosen, key=itemgetter(0)):
        checked = []
        for _, row in rows:
            if row.experiment is not None and row.experiment not in studies:
                study = make(scenario_of(row.experiment), directory / row.experiment.name)
                if study.execution.interrupted:
                    raise InterruptedByUser
                studies[row.experiment] = study
            checked.append(_check(row, studies))
        verified.append(Verified(family, tuple(checked)))
    return verified


def scenario_of(experiment: Experiment) -> Scenario:
    """The scenario of an experiment. Raises ScenarioError."""
    if experiment.text:
        return parse_scenario(experiment.text, experiment.name, experiment.settings)
    return load_scenario(experiment.name, experiment.settings)


def _check(row: Row, studies: dict[Experiment, Study]) -> Checked:
    if row.experiment is None or row.measure is None:
        return judge(row, [])
    study = studies[row.experiment]
    failed = next(_failures(study), "")
    return judge(row, [] if failed else [row.measure(run) for run in study.runs], failed)


def _failures(study: Study) -> Iterator[str]:
    for outcome in study.result.outcomes():
        if outcome.status == RunStatus.FAILED:
            yield f"{outcome.run.label}: {outcome.reason}"
