"""Makes the experiments of rows, each once, and judges the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from netwarp.scenario import Scenario, ScenarioError, load_scenario, parse_scenario
from netwarp.steps.evaluation import Study
from netwarp.steps.variants import noise_of, wires_of
from netwarp.store.files import make_folder
from netwarp.store.run_status import RunStatus
from netwarp.verify.row import Checked, Experiment, Family, Row, Verdict, judge
from netwarp.verify.setting import Setting

Make = Callable[[Scenario, Path], Study]
"""Makes the study of a scenario in a directory."""
Begun = Callable[[int, int, str], None]
"""A callback for the start of an experiment: its number, from 0, the number of experiments, and its name."""


def _unheard(number: int, count: int, name: str) -> None:
    """Ignore the event."""


class InterruptedByUser(Exception):
    """The user ended an experiment; the results so far are kept in the directory."""


@dataclass(frozen=True)
class Verified:
    """The rows of a family with their verdicts."""

    family: Family
    rows: tuple[Checked, ...]


def verify(
    chosen: Sequence[tuple[Family, Row]], directory: Path, make: Make, setting: Setting, begun: Begun = _unheard
) -> list[Verified]:
    """Measure the rows in `directory`, an experiment in a folder each, and judge them.

    Raises ScenarioError, EngineError, StoreError, InterruptedByUser.
    """
    reasons = {row.name: setting.leaves_out(row) for _, row in chosen}
    wanted = dict.fromkeys(row.experiment for _, row in chosen if row.experiment and not reasons[row.name])
    studies: dict[Experiment, Study] = {}
    lacking: dict[Experiment, str] = {}
    make_folder(directory)  # also if no row has an experiment, since the page goes there
    for number, experiment in enumerate(wanted):
        begun(number, len(wanted), experiment.name)
        scenario = scenario_of(experiment, noisy=setting.noise, netem=setting.netem)
        try:
            study = make(scenario, directory / experiment.name)
        except ScenarioError as refused:
            lacking[experiment] = _lack(refused)
            continue
        if study.execution.interrupted:
            raise InterruptedByUser
        studies[experiment] = study
    begun(len(wanted), len(wanted), "")

    def reason_of(row: Row) -> str:
        return reasons[row.name] or (lacking.get(row.experiment, "") if row.experiment else "")

    return [
        Verified(family, tuple(_check(row, reason_of(row), studies) for _, row in rows))
        for family, rows in groupby(chosen, key=itemgetter(0))
    ]


def scenario_of(experiment: Experiment, *, noisy: bool = False, netem: bool = False) -> Scenario:
    """The scenario of an experiment, with or without noise, and on devices or netem. Raises ScenarioError."""
    scenario = _load(experiment, experiment.settings)
    changed = (*(noise_of(scenario) if noisy else ()), *(wires_of(scenario, "netem") if netem else ()))
    return _load(experiment, (*experiment.settings, *changed)) if changed else scenario


def _load(experiment: Experiment, settings: Sequence[str]) -> Scenario:
    if experiment.text:
        return parse_scenario(experiment.text, experiment.name, settings, given=experiment.given)
    return load_scenario(experiment.name, settings)


def _lack(refused: ScenarioError) -> str:
    """The reason why the engine cannot run an experiment, without the advice, which is for the author of a scenario."""
    return refused.problems[0].message.partition(", so ")[0].partition("; ")[0]


def _check(row: Row, reason: str, studies: dict[Experiment, Study]) -> Checked:
    if reason:
        return Checked(row, (), Verdict.UNJUDGED, reason)
    if row.experiment is None or row.measure is None:
        return judge(row, [])
    study = studies[row.experiment]
    failed = next(_failures(study), "")
    return judge(row, [] if failed else [row.measure(run) for run in study.runs], failed)


def _failures(study: Study) -> Iterator[str]:
    for outcome in study.result.outcomes():
        if outcome.status == RunStatus.FAILED:
            yield f"{outcome.run.label}: {outcome.reason}"
