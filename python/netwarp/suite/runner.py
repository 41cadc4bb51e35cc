"""Runs the cases of a suite: one experiment for each case, with every subject, the references and the same seeds."""

from __future__ import annotations

import json
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl

from netwarp.scenario import Scenario, ScenarioError
from netwarp.steps.evaluation import Study
from netwarp.store.errors import SelectionError
from netwarp.store.files import make_folder, write_text
from netwarp.store.run_status import RunStatus
from netwarp.store.summary import CASE, axis_text
from netwarp.suite.case import LONE, Case, Group, Subject, Suite
from netwarp.suite.verdict import Judged, Verdict, judge
from netwarp.verify.row import Experiment
from netwarp.verify.verifier import InterruptedByUser, scenario_of

Make = Callable[[Scenario, Path], Study]
"""Makes the study of a scenario in a directory."""


@dataclass(frozen=True)
class Assessment:
    """A suite's result: the subjects, the references beside them, and the judged measures, by group."""

    suite: Suite
    subjects: tuple[Subject, ...]
    groups: Mapping[str, Sequence[Judged]]
    seeds: int

    @property
    def columns(self) -> tuple[Subject, ...]:
        """The subjects, then the references that are not among them."""
        return columns_of(self.suite, self.subjects)

    @property
    def judged(self) -> Iterator[Judged]:
        """All judged measures, in the order of the page."""
        for rows in self.groups.values():
            yield from rows


def columns_of(suite: Suite, subjects: Sequence[Subject]) -> tuple[Subject, ...]:
    """The subjects, then the references that are not among them."""
    values = {subject.value for subject in subjects}
    return (*subjects, *(one for one in suite.references if one.value not in values))


def run(
    suite: Suite,
    chosen: Sequence[tuple[Group, Case]],
    subjects: Sequence[Subject],
    directory: Path,
    make: Make,
    *,
    seeds: int,
    keep: bool = False,
) -> Assessment:
    """Run these cases with the seeds from 1 on in `directory`, and judge them.

    The scenario of each stays there as `NAME.toml`; its result, `NAME`, only if `keep`, since each of its runs has
    records of some MB. Raises ScenarioError, EngineError, StoreError, InterruptedByUser, and SelectionError for a
    subject that is not usable.
    """
    make_folder(directory)
    for subject in subjects:
        _refuse_unusable(suite, subject, directory, make)
    groups: dict[str, list[Judged]] = defaultdict(list)
    columns = columns_of(suite, subjects)
    for group, case in chosen:
        about = _about(group, columns, subjects)
        unasked = {one.name: Verdict.UNASKED for one in columns if one not in about}
        if case.experiment is None:
            waits = {one.name: Verdict.WAITS for one in subjects}
            groups[group.title].append(Judged(case, None, "", {}, waits | unasked, reason=case.waits))
            continue
        running = [one for one in columns if one in about or one == suite.baseline]
        experiment = experiment_of(case, running, suite.modules, seeds)
        study = make(scenario_of(experiment), directory / case.name)
        if study.execution.interrupted:
            raise InterruptedByUser
        for judged in _judge(case, study, running, suite.baseline.name):
            groups[group.title].append(replace(judged, verdicts={**judged.verdicts, **unasked}))
        write_text(directory / f"{case.name}.toml", experiment.text)
        if not keep:
            shutil.rmtree(study.path)
    return Assessment(suite, tuple(subjects), groups, seeds)


def _about(group: Group, columns: Sequence[Subject], subjects: Sequence[Subject]) -> Sequence[Subject]:
    """The subjects that a group applies to; all of them if it applies to none but was chosen."""
    if not any(one.name.startswith(group.only_for) for one in subjects):
        return columns
    return [one for one in columns if one.name.startswith(group.only_for)]


def _refuse_unusable(suite: Suite, subject: Subject, directory: Path, make: Make) -> None:
    """Raise SelectionError if a subject does not run: it does not compile, or the kernel or tc refuses it.

    The baseline runs beside it, so that a module that does not compile is a failed run, not an error of the engine.
    """
    if subject in suite.references:
        return
    columns = (replace(subject, name="subject"), replace(suite.baseline, name="baseline"))
    given = f'{suite.option} "{subject.value}"'
    with TemporaryDirectory(prefix=f".{suite.trial.name}-", dir=directory) as place:
        try:
            study = make(scenario_of(experiment_of(suite.trial, columns, suite.modules)), Path(place))
        except ScenarioError as error:
            raise SelectionError(
                f"{given}: {'; '.join(dict.fromkeys(one.message for one in error.problems))}"
            ) from None
        if study.execution.interrupted:
            raise InterruptedByUser
        for outcome in study.result.outcomes():
            if outcome.run.point[CASE] == "subject" and outcome.status == RunStatus.FAILED:
                raise SelectionError(f"{given} cannot be tested: {outcome.reason}")


def experiment_of(case: Case, columns: Sequence[Subject], modules: Sequence[str] = (), seeds: int = 1) -> Experiment:
    """The experiment of a case with these subjects as cases of its scenario. `modules` are loaded in all of them."""
    if case.experiment is None:
        raise ValueError(f"{case.name} has no experiment")
    settings = {one.name: dict.fromkeys(case.sets, one.value) for one in columns}
    lone = {LONE: {case.lone: 0}} if case.lone else {}
    text = "".join(_case_text(name, one) for name, one in (lone | settings).items())
    loaded = f"modules = {_toml(list(modules))}\n" if modules else ""
    text = f"seeds = {seeds}\n{loaded}{case.experiment.text}\n{text}"
    return replace(case.experiment, text=text, given=frozenset(one.value for one in columns))


def _case_text(name: str, settings: Mapping[str, object]) -> str:
    """A case of a scenario."""
    fields = ", ".join(f"{_toml(path)} = {_toml(value)}" for path, value in settings.items())
    return f"[[cases]]\nname = {_toml(name)}\nset = {{ {fields} }}\n"


def _toml(value: object) -> str:
    """A text, a number or a list of texts in TOML, which writes these as JSON does."""
    return json.dumps(value, ensure_ascii=False)


def _judge(case: Case, study: Study, columns: Sequence[Subject], baseline: str) -> Iterator[Judged]:
    """Judge each measure at each point of a case."""
    points = case.axis.points if case.axis else {"": ""}
    for value, words in points.items():
        at = {case.axis.path: value} if case.axis else {}
        left_out = list(_left_out(study, at))
        failures = {name: reason for name, status, reason in left_out if status != RunStatus.SUSPECT}
        suspicions = {name: _first(reason) for name, status, reason in left_out if status == RunStatus.SUSPECT}
        rows = study.summary.filter(pl.col("status") == RunStatus.OK)
        for path, one in at.items():
            rows = rows.filter(pl.col(path).cast(pl.String) == axis_text(one))
        for measure in case.measures:
            found = rows.filter(scope=measure.scope, name=measure.name, metric=measure.metric).drop_nulls("value")
            values = {one.name: found.filter(pl.col(CASE) == one.name)["value"].to_list() for one in columns}
            judged = judge(case, measure, words, values, baseline=baseline, failures=failures, suspicions=suspicions)
            yield replace(judged, left_out=tuple(f"{name}, {reason}" for name, _, reason in left_out))


def _first(reasons: str) -> str:
    """The first of the reasons that make a run suspect."""
    return reasons.split("; ", maxsplit=1)[0]


def _left_out(study: Study, at: Mapping[str, str | int]) -> Iterator[tuple[str, RunStatus, str]]:
    """The runs at this point that do not count: subject, status and reason; a failed lone run concerns all subjects.

    The values of a suspect run do not count; the other seeds decide.
    """
    names = study.summary[CASE].unique(maintain_order=True).to_list()
    for outcome in study.result.outcomes():
        here = all(axis_text(outcome.run.point[path]) == axis_text(value) for path, value in at.items())
        if here and outcome.status != RunStatus.OK:
            name = str(outcome.run.point[CASE])
            reason = f"seed {outcome.run.seed}: {outcome.status}: {outcome.reason or 'see its status.json'}"
            for one in names if name == LONE else [name]:
                yield one, outcome.status, reason
