"""The points of a scenario: every combination of its axes, in every case."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from netwarp.scenario.errors import COMMAND_LINE, Problem, ScenarioError, did_you_mean
from netwarp.scenario.model import Case, Scenario
from netwarp.scenario.model.paths import resolve_path, swept_path


@dataclass(frozen=True)
class Axis:
    """One thing that is varied: its path as written, the same as keys, and its values as written."""

    path: str
    keys: tuple[str, ...]
    values: tuple[Any, ...]


@dataclass(frozen=True)
class Point:
    """One combination: the case (None without cases) and, for each axis, the index of its value."""

    case: Case | None
    indices: tuple[int, ...]

    def values(self, axes: Sequence[Axis]) -> dict[str, Any]:
        """axis path → value as written."""
        return {axis.path: axis.values[index] for axis, index in zip(axes, self.indices, strict=True)}


def axes_of(scenario: Scenario) -> tuple[Axis, ...]:
    """The axes in file order."""
    data = scenario.source.data
    return tuple(Axis(path, resolve_path(path, data), tuple(values)) for path, values in scenario.sweep.items())


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


def check_given(scenario: Scenario, cases: Sequence[Case | None]) -> None:
    """Refuse `--set` and `--sweep` of what one of the cases sets. Raises ScenarioError."""
    data = scenario.source.data
    problems = []
    for path, given in scenario.source.overrides.items():
        axis = swept_path(path)
        keys = tuple(path.split(".")) if axis is None else resolve_path(axis, data)
        setting = [
            case.name for case in cases if case and any(_overlap(keys, own) for own, _ in case_settings(case, data))
        ]
        if setting:
            named = ", ".join(f'"{name}"' for name in setting[:3]) + (" …" if len(setting) > 3 else "")
            why = f"the case {named} sets this as well" if len(setting) == 1 else f"the cases {named} set this as well"
            problems.append(Problem(f"{why}; choose others with --case, or edit the file", given, None, COMMAND_LINE))
    if problems:
        raise ScenarioError(problems, COMMAND_LINE)


def _overlap(keys: tuple[str, ...], others: tuple[str, ...]) -> bool:
    """Whether one of two paths is the other, or leads to it."""
    return all(a == b for a, b in zip(keys, others, strict=False))


def points_of(axes: Sequence[Axis], cases: Sequence[Case | None]) -> Iterator[Point]:
    """Every point in a fixed order: cases first, then the product of the axes with the last axis fastest."""
    for case in cases:
        for indices in itertools.product(*(range(len(axis.values)) for axis in axes)):
            yield Point(case, indices)


def case_settings(case: Case | None, data: Mapping[str, Any]) -> list[tuple[tuple[str, ...], Any]]:
    """What a case sets, as keys and values."""
    return [(resolve_path(path, data), value) for path, value in (case.set if case else {}).items()]
