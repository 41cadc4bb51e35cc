"""The points of a scenario: every combination of its axes, in every case."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from netwarp.scenario.errors import COMMAND_LINE, Problem, ScenarioError, did_you_mean
from netwarp.scenario.model import Case, Scenario
from netwarp.scenario.model.paths import swept_path
from netwarp.values.json_values import Json, JsonObject, as_table


@dataclass(frozen=True)
class Axis:
    """One swept path: as written, as keys, and its values as written."""

    path: str
    keys: tuple[str, ...]
    values: tuple[Json, ...]


@dataclass(frozen=True)
class Point:
    """One combination: the case (None without cases) and, for each axis, the index of its value."""

    case: Case | None
    indices: tuple[int, ...]

    def values(self, axes: Sequence[Axis]) -> dict[str, Json]:
        """axis path → value as written."""
        return {axis.path: axis.values[index] for axis, index in zip(axes, self.indices, strict=True)}


def axes_of(scenario: Scenario) -> tuple[Axis, ...]:
    """The axes in file order."""
    return tuple(Axis(path, scenario.keys_of(path), tuple(values)) for path, values in scenario.sweep.items())


def cases_of(scenario: Scenario, names: Sequence[str] | None = None) -> tuple[Case | None, ...]:
    """The cases of these names (None: all) in file order; a scenario without cases has the one case None.

    Raises ScenarioError for a name that no case has.
    """
    known = {case.name: case for case in scenario.cases}
    unknown = [name for name in names or () if name not in known]
    if unknown:
        problems = [
            Problem(f'there is no case "{n}"{did_you_mean(n, known)}', f"--case {n}", None, COMMAND_LINE)
            for n in unknown
        ]
        raise ScenarioError(problems, COMMAND_LINE)
    chosen = [case for name, case in known.items() if not names or name in names]
    return tuple(chosen) or (None,)


def with_swept_cases(scenario: Scenario) -> Scenario:
    """The scenario in which a `--sweep` of a path that replaces cases becomes one case for each value.

    It replaces the cases that set this path and nothing else, so that the given values are compared with the same
    baseline. Other axes stay and are multiplied with the cases; `check_given` refuses those that conflict with cases.
    """
    source = scenario.source
    for axis, given, setting in replaced_cases(scenario):
        values = [Case(name=f"{axis.path} = {value}"[:100], set={axis.path: value}) for value in axis.values]
        at = scenario.cases.index(setting[0])
        kept = [case for case in scenario.cases if case not in setting]
        cases = (*kept[:at], *values, *kept[at:])
        sweep = {path: its for path, its in as_table(source.data["sweep"]).items() if path != axis.path}
        study: JsonObject = {"sweep": sweep, "cases": [{"name": case.name, "set": case.set} for case in cases]}
        # A problem with a value is reported for the option that gave it.
        origins = {f"cases.{number}": given for number in range(at, at + len(values))}
        source = replace(
            source,
            data={**source.data, **study},
            written={**source.written, **study},
            overrides={**source.overrides, **origins},
        )
        scenario = scenario.model_copy(update={"cases": cases, "sweep": sweep})
        scenario._source = source
    return scenario


def replaced_cases(scenario: Scenario) -> list[tuple[Axis, str, list[Case]]]:
    """The axes that replace cases, the option that gave each, and the cases."""
    found = []
    for axis in axes_of(scenario):
        given = scenario.source.overrides.get(f'sweep."{axis.path}"')
        setting = [case for case in scenario.cases if any(_overlap(axis.keys, own) for own in _keys(case, scenario))]
        if given and setting and all(_keys(case, scenario) == [axis.keys] for case in setting):
            found.append((axis, given, setting))
    return found


def _keys(case: Case, scenario: Scenario) -> list[tuple[str, ...]]:
    return [keys for keys, _ in case_settings(case, scenario)]


def check_given(scenario: Scenario, cases: Sequence[Case | None]) -> None:
    """Refuse `--set` and `--sweep` of a path that one of the cases sets. Raises ScenarioError."""
    problems = []
    for path, given in scenario.source.overrides.items():
        axis = swept_path(path)
        if path.startswith("cases.") or (axis is not None and axis not in scenario.sweep):
            continue  # it has replaced cases
        keys = tuple(path.split(".")) if axis is None else scenario.keys_of(axis)
        setting = [case for case in cases if case and any(_overlap(keys, own) for own in _keys(case, scenario))]
        if setting:
            named = ", ".join(f'"{case.name}"' for case in setting[:3]) + (" …" if len(setting) > 3 else "")
            why = f"the case {named} sets this as well" if len(setting) == 1 else f"the cases {named} set this as well"
            instead = "choose others with --case, or copy the scenario with `netwarp new NAME --from` and edit it"
            if axis is None and all(keys in _keys(case, scenario) for case in setting):
                instead = f"replace that with --set 'cases.{given.removeprefix('--set ')}', {instead}"
            problems.append(Problem(f"{why}; {instead}", given, None, COMMAND_LINE))
    if problems:
        raise ScenarioError(problems, COMMAND_LINE)


def _overlap(keys: tuple[str, ...], others: tuple[str, ...]) -> bool:
    """Whether two paths are the same, or one is a prefix of the other."""
    return all(a == b for a, b in zip(keys, others, strict=False))


def points_of(axes: Sequence[Axis], cases: Sequence[Case | None]) -> Iterator[Point]:
    """Every point in a fixed order: cases first, then the product of the axes with the last axis fastest."""
    for case in cases:
        for indices in itertools.product(*(range(len(axis.values)) for axis in axes)):
            yield Point(case, indices)


def case_settings(case: Case | None, scenario: Scenario) -> list[tuple[tuple[str, ...], Any]]:
    """The settings of a case, as keys and values."""
    return [(scenario.keys_of(path), value) for path, value in (case.set if case else {}).items()]
