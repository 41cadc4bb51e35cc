"""Resolves a point of a sweep to its scenario, without validating again the sections that the point does not change.

The base scenario was validated once. A point replaces a few sections (a link, a flow, the run options …). Each
distinct replacement is validated once and kept, with its canonical JSON, from which run ids are made.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, cast, get_args, get_type_hints

from pydantic import BaseModel, TypeAdapter, ValidationError

from netwarp.modules.named import names_modules
from netwarp.scenario.check.links import check_link
from netwarp.scenario.check.scenario import check_scenario
from netwarp.scenario.errors import Problem
from netwarp.scenario.load.explain import explain
from netwarp.scenario.load.loader import problems_at
from netwarp.scenario.model import SECTIONS, Case, RunOptions, Scenario
from netwarp.scenario.model.paths import DIRECTED, section_of, with_value
from netwarp.scenario.points.identity import KERNEL, UNCOUNTED, uncounted_in
from netwarp.scenario.points.sweep import Axis, Point, case_settings
from netwarp.scenario.source import Keys

SectionKey = tuple[str, ...]

_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
# Fields that no check compares with another part of the scenario: points that differ only here are checked once.
_INDEPENDENT = frozenset(
    {*DIRECTED, "mtu", "offload", "cc", "packet_size", "interval", "size", "args", "memory", "sample"}
)


@dataclass(frozen=True)
class Section:
    """One validated section and its canonical JSON."""

    value: Any
    canonical: str


def canonical_json(value: object) -> str:
    """JSON with sorted keys and no spaces: the same for the same content."""
    return _CANONICAL.encode(value)


@cache
def _adapter(model: type[Scenario], field: str) -> TypeAdapter[Any]:
    """The validator of a section of a scenario; for a table that of one of its entries."""
    kind = get_type_hints(model, include_extras=True)[field]
    return TypeAdapter(get_args(kind)[1] if field in SECTIONS else kind)


def _plain(value: object, uncounted: set[str]) -> object:
    """A section as plain data, without the fields that decide nothing."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", by_alias=True, exclude=uncounted)
    if isinstance(value, tuple):
        return [_plain(item, set()) for item in value]
    return value


class Resolver:
    """Turns points into scenarios and their canonical JSON; `problems` collects the problems of all points."""

    def __init__(self, base: Scenario, axes: Sequence[Axis]) -> None:
        """Prepare for points along `axes` of the validated scenario `base`."""
        self.base = base
        self.axes = axes
        self.problems: dict[Problem, None] = {}
        self._sections: dict[tuple[Any, ...], Section | None] = {}
        self._checked: set[tuple[Any, ...]] = set()
        self._points = 0
        self._replaced: Counter[SectionKey] = Counter()
        self._base_sections = {key: _section(key[0], value) for key, value in _sections_of(base)}
        self._order: dict[str, tuple[SectionKey, ...]] = {
            table: tuple((table, name) for name in getattr(base, table)) for table in SECTIONS
        }
        self._axis_sections = [section_of(axis.keys) for axis in axes]
        # Changes over time are checked against the state of a link at the start.
        paths = [*(axis.keys for axis in axes), *(base.keys_of(path) for case in base.cases for path in case.set)]
        changes = base.changes or any(link.trace.of(direction) for link in base.links.values() for direction in (0, 1))
        changes = changes or any("trace" in keys for keys in paths)
        alone = _INDEPENDENT - {*DIRECTED, "mtu"} if changes else _INDEPENDENT
        if names_modules(base.source.data):
            alone -= {"cc"}  # two modules may conflict
        self._dependent = [i for i, axis in enumerate(axes) if alone.isdisjoint(axis.keys)]

    def replacements(self, point: Point) -> dict[SectionKey, Section] | None:
        """The sections that differ from the base at this point; None (and problems) when one is invalid."""
        touched: dict[SectionKey, list[int]] = {}
        for position, section in enumerate(self._axis_sections):
            touched.setdefault(section, []).append(position)
        for keys, _ in case_settings(point.case, self.base):
            touched.setdefault(section_of(keys), [])
        found: dict[SectionKey, Section] = {}
        valid = True
        for key, positions in touched.items():
            replacement = self._section_at(key, positions, point)
            if replacement is None:
                valid = False
            else:
                found[key] = replacement
        if valid:
            self._points += 1
            self._replaced.update(found.keys())
            self._check(point, found)
            return found
        return None

    def sections(self) -> Iterator[tuple[SectionKey, Any]]:
        """Every validated section that some point has, each once; that of the base unless every point replaced it."""
        for key, section in self._base_sections.items():
            if self._replaced[key] < self._points:
                yield key, section.value
        for (key, _, _), replacement in self._sections.items():
            if replacement is not None:
                yield key, replacement.value

    def scenario(self, replaced: Mapping[SectionKey, Section], seed: int) -> Scenario:
        """The scenario with these sections in place, of one seed, without sweep and cases."""
        update: dict[str, Any] = {"seeds": (seed,), "sweep": {}, "cases": ()}
        for key, section in replaced.items():
            if len(key) == 1:
                update[key[0]] = section.value
            else:
                table = update.setdefault(key[0], dict(getattr(self.base, key[0])))
                table[key[1]] = section.value
        return self.base.model_copy(update=update)

    def canonical(self, replaced: Mapping[SectionKey, Section]) -> str:
        """Canonical JSON of everything that decides a run's result, without the fields in `UNCOUNTED`.

        Quantities are integers, defaults are filled in. Nodes, links and flows are lists, since their order decides
        addresses, indices and ports; the order of keys within them decides nothing.
        """
        sections = {**self._base_sections, **replaced}
        parts = {name: self._canonical_field(name, sections) for name in _counted(type(self.base))}
        tuner = cast(RunOptions, sections[("run",)].value).tuner
        chosen = sections.get(("tuners", tuner))  # an unknown one is among the problems
        parts["tuner"] = chosen.canonical if chosen else "null"
        return "{" + ",".join(f'"{name}":{parts[name]}' for name in sorted(parts)) + "}"

    def _canonical_field(self, name: str, sections: Mapping[SectionKey, Section]) -> str:
        if name not in SECTIONS:
            return sections[(name,)].canonical
        return "[" + ",".join(f'{{"{key[1]}":{sections[key].canonical}}}' for key in self._order[name]) + "]"

    def _section_at(self, key: SectionKey, positions: Sequence[int], point: Point) -> Section | None:
        values = tuple(point.indices[position] for position in positions)
        case = point.case.name if point.case else None
        cached = (key, case, values)
        if cached not in self._sections:
            chosen = [self.axes[position] for position in positions]
            self._sections[cached] = self._validate(key, point.case, list(zip(chosen, values, strict=True)))
        return self._sections[cached]

    def _validate(self, key: SectionKey, case: Case | None, chosen: list[tuple[Axis, int]]) -> Section | None:
        data: Mapping[str, Any] = self.base.source.data
        origins: list[tuple[tuple[str, ...], Keys, object]] = []
        for keys, value in case_settings(case, self.base):
            if section_of(keys) == key and case is not None:
                data = with_value(data, keys, value)
                index = self.base.cases.index(case)
                origins.append((keys, ("cases", index, "set", ".".join(keys)), value))
        for axis, index in chosen:
            data = with_value(data, axis.keys, axis.values[index])
            origins.append((axis.keys, ("sweep", axis.path), axis.values[index]))
        raw: Any = data
        for part in key:
            raw = raw[part]
        try:
            value = _adapter(type(self.base), key[0]).validate_python(raw, context=self.base.source.context)
        except ValidationError as error:
            nested = isinstance(raw, Mapping)
            found = explain(error, raw, key) if nested else [(key, why) for _, why in explain(error, {}, key)]
        else:
            found = list(check_link(key[1], value, self.base)) if key[0] == "links" else []
        if found:
            self._report(found, origins)
            return None
        return _section(key[0], value)

    def _check(self, point: Point, replaced: Mapping[SectionKey, Section]) -> None:
        """Check the parts of the point against each other, once for all points with the same outcome."""
        signature = (point.case.name if point.case else None, *(point.indices[i] for i in self._dependent))
        if signature in self._checked:
            return
        self._checked.add(signature)
        found = list(check_scenario(self.scenario(replaced, self.base.seeds[0])))
        if found:
            origins: list[tuple[tuple[str, ...], Keys, object]] = [
                (axis.keys, ("sweep", axis.path), axis.values[index])
                for axis, index in zip(self.axes, point.indices, strict=True)
            ]
            if point.case is not None:
                number = self.base.cases.index(point.case)
                origins += [
                    (keys, ("cases", number, "set", ".".join(keys)), value)
                    for keys, value in case_settings(point.case, self.base)
                ]
            self._report(found, origins)

    def _report(
        self, found: Sequence[tuple[Keys, str]], origins: Sequence[tuple[tuple[str, ...], Keys, object]]
    ) -> None:
        """Report findings at a point, at the axis or case that caused them if that is known."""
        located: list[tuple[Keys, str]] = []
        for keys, why in found:
            same = [(o, v) for path, o, v in origins if keys[: len(path)] == path or path[: len(keys)] == keys]
            if same:
                located.append((same[0][0], why))
            else:
                point = ", ".join(f"{'.'.join(path)} = {value!r}" for path, _, value in origins)
                located.append((keys, f"{why} (at the point {point})"))
        self.problems.update(dict.fromkeys(problems_at(located, self.base.source)))


def _counted(model: type[Scenario]) -> list[str]:
    """The fields of a scenario that count."""
    return [name for name in model.model_fields if name not in UNCOUNTED]


def _sections_of(scenario: Scenario) -> Iterator[tuple[SectionKey, Any]]:
    for name in dict.fromkeys((*_counted(type(scenario)), *SECTIONS, KERNEL)):
        value = getattr(scenario, name)
        if name in SECTIONS:
            yield from (((name, key), item) for key, item in value.items())
        else:
            yield (name,), value


def _section(field: str, value: Any) -> Section:
    return Section(value, canonical_json(_plain(value, uncounted_in(field))))
