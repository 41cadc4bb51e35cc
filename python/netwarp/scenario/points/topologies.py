"""The resolvers of a plan: one for each topology among its points, since a topology decides which nodes and links
there are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from netwarp.scenario.errors import Problem, ScenarioError
from netwarp.scenario.load.loader import generated, problems_at, validate
from netwarp.scenario.load.topology import KEY
from netwarp.scenario.model import Scenario
from netwarp.scenario.model.paths import with_value
from netwarp.scenario.model.study import Case
from netwarp.scenario.points.resolve import Resolver, SectionKey, canonical_json
from netwarp.scenario.points.sweep import Axis, Point, case_settings
from netwarp.scenario.source import Keys
from netwarp.values.json_values import Json, JsonObject, as_list, as_table

_Settings = list[tuple[tuple[str, ...], Json]]
_Given = list[tuple[tuple[str, ...], Json, Keys]]
"""Keys of a field of the topology, its value, and where the file has it."""


class Resolvers:
    """The resolver of each point; `problems` has those of all points."""

    def __init__(self, base: Scenario, axes: Sequence[Axis]) -> None:
        """Prepare for points along `axes` of the validated scenario `base`."""
        self._base = base
        self._axes = axes
        self._usual = Resolver(base, axes)
        self._others: dict[str, Resolver | None] = {}
        self._refused: dict[Problem, None] = {}

    @property
    def problems(self) -> list[Problem]:
        """Everything that is wrong with a point, each once."""
        resolvers = [self._usual, *self._others.values()]
        return list(self._refused | {problem: None for found in resolvers if found for problem in found.problems})

    def at(self, point: Point) -> Resolver | None:
        """The resolver of a point; None (and problems) if its topology is invalid."""
        given: _Given = [
            (axis.keys, axis.values[index], ("sweep", axis.path))
            for axis, index in zip(self._axes, point.indices, strict=True)
            if axis.keys[0] == KEY
        ]
        if point.case is not None:
            at = ("cases", self._base.cases.index(point.case), "set")
            given += [(keys, value, (*at, ".".join(keys))) for keys, value in self._of_topology(point.case)]
        if not given:
            return self._usual
        key = canonical_json([(keys, value) for keys, value, _ in given])
        if key not in self._others:
            self._others[key] = self._made(given, point.case)
        return self._others[key]

    def sections(self) -> Iterator[tuple[SectionKey, Any]]:
        """Every validated section that some point has (`Resolver.sections`)."""
        for resolver in (self._usual, *self._others.values()):
            if resolver is not None:
                yield from resolver.sections()

    def _made(self, given: _Given, case: Case | None) -> Resolver | None:
        source = self._base.source
        written = source.written if case is None else self._without_cases_of_others(source.written, case)
        for keys, value, _ in given:
            written = with_value(written, keys, value)
        try:
            return Resolver(validate(generated(source, written)), self._axes)
        except ScenarioError as error:
            where = ", ".join(f"{'.'.join(keys)} = {value}" for keys, value, _ in given)
            found = [(given[-1][2], f"{_placed(problem)} (at {where})") for problem in error.problems]
            self._refused.update(dict.fromkeys(problems_at(found, source)))
            return None

    def _without_cases_of_others(self, written: JsonObject, case: Case) -> JsonObject:
        """Data in which cases of other topologies, and the presets that only they use, set nothing: what they set need
        not exist in this case's."""
        own = self._of_topology(case)
        alike = [other for other in self._base.cases if self._of_topology(other) == own]
        cases = [
            raw if other in alike else {**as_table(raw), "use": [], "set": {}}
            for raw, other in zip(as_list(written.get("cases")), self._base.cases, strict=True)
        ]
        used = {name for other in alike for name in other.use}
        presets = {name: its if name in used else {} for name, its in as_table(written.get("presets")).items()}
        return {**written, "cases": cases, **({"presets": presets} if presets else {})}

    def _of_topology(self, case: Case) -> _Settings:
        return [(keys, value) for keys, value in case_settings(case, self._base) if keys[0] == KEY]


def _placed(problem: Problem) -> str:
    return f"{problem.where}: {problem.message}" if problem.where else problem.message
