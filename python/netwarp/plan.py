"""Makes the plan of a scenario: every run, with the id under which its result is kept."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

from netwarp.scenario.check.bounds import MAX_RUNS
from netwarp.scenario.errors import Problem, ScenarioError
from netwarp.scenario.model import Scenario
from netwarp.scenario.points.identity import KERNEL, key_of_kernel, with_kernel
from netwarp.scenario.points.resolve import SectionKey, canonical_json
from netwarp.scenario.points.sweep import axes_of, cases_of, check_given, points_of, with_swept_cases
from netwarp.scenario.points.topologies import Resolvers
from netwarp.values.json_values import Json

ID_DIGITS = 12


@dataclass(frozen=True, eq=False)
class Run:
    """One run: a point of the sweep (axis path → value as written), a case or None, and a seed.

    `id` is the first 12 hex digits of the SHA-256 of everything that decides the result. `kernel` is the digest of the
    kernel that the scenario names at this point, None if it names none. `scenario` is resolved for this point when it
    is first used.
    """

    id: str
    point: Mapping[str, Json]
    case: str | None
    seed: int
    kernel: str | None
    _resolve: Callable[[], Scenario] = field(repr=False)

    @cached_property
    def scenario(self) -> Scenario:
        """The scenario at this point: one seed, no sweep, no cases."""
        return self._resolve()

    @property
    def label(self) -> str:
        """The run in words, such as `slow h1, links.bottleneck.queue = fq_codel, seed 2`."""
        parts = [self.case] if self.case else []
        parts += [f"{path} = {value}" for path, value in self.point.items()]
        return ", ".join([*parts, f"seed {self.seed}"])


@dataclass(frozen=True, eq=False)
class Plan:
    """The runs of a scenario, in a fixed order: cases, then axes (the last one fastest), then seeds.

    `identity` is the part of their ids beside the scenario, `sections` every validated section that some run has.
    """

    scenario: Scenario
    axes: tuple[str, ...]
    runs: tuple[Run, ...]
    identity: Mapping[str, str] = field(default_factory=dict)
    sections: tuple[tuple[SectionKey, Any], ...] = ()

    def __len__(self) -> int:
        return len(self.runs)

    def __iter__(self) -> Iterator[Run]:
        return iter(self.runs)

    @property
    def points(self) -> tuple[Run, ...]:
        """A run of each point: those with the first seed."""
        return tuple(run for run in self.runs if run.seed == self.runs[0].seed)

    @cached_property
    def id(self) -> str:
        """12 hex digits that identify the set of runs, regardless of their order."""
        return hashlib.sha256("\n".join(sorted(run.id for run in self.runs)).encode()).hexdigest()[:ID_DIGITS]


def make_plan(
    scenario: Scenario,
    seeds: Sequence[int] | None = None,
    cases: Sequence[str] | None = None,
    identity: Mapping[str, str] | None = None,
) -> Plan:
    """Plan every run of `scenario`.

    `seeds` and `cases` replace the scenario's; `identity` has everything else that decides a result (digests of kernel,
    agent, tools, programs) and is part of every id. Raises ScenarioError for an unknown case, for a point that is not a
    valid scenario, and for two points that give the same run.

    If no cases are chosen, a `--sweep` of a path that cases set replaces the cases (see `with_swept_cases`).
    """
    if cases is None:
        scenario = with_swept_cases(scenario)
    axes = axes_of(scenario)
    chosen = cases_of(scenario, cases)
    check_given(scenario, chosen)
    asked = seeds if seeds is not None else scenario.seeds
    _refuse_too_many(len(chosen) * math.prod(len(axis.values) for axis in axes), len(asked), scenario)
    numbers = tuple(asked)
    if not numbers or len(set(numbers)) != len(numbers):
        raise ScenarioError("a plan needs at least one seed, and each only once", scenario.source.label)
    resolvers = Resolvers(scenario, axes)
    prefixes: dict[str | None, Any] = {}
    runs: list[Run] = []
    for point in points_of(axes, chosen):
        resolver = resolvers.at(point)
        if resolver is None or (replaced := resolver.replacements(point)) is None:
            continue
        kernel = replaced[(KERNEL,)].value if (KERNEL,) in replaced else scenario.kernel
        hashed = prefixes.setdefault(kernel, _prefix(with_kernel(identity or {}, kernel))).copy()
        hashed.update(resolver.canonical(replaced).encode())
        values = point.values(axes)
        case = point.case.name if point.case else None
        for seed in numbers:
            run_id = _with_seed(hashed, seed)
            digest = None if kernel is None else (identity or {}).get(key_of_kernel(kernel))
            runs.append(Run(run_id, values, case, seed, digest, partial(resolver.scenario, replaced, seed)))
    if problems := resolvers.problems:
        raise ScenarioError(problems, scenario.source.label)
    _refuse_same(runs, scenario)
    paths = tuple(axis.path for axis in axes)
    return Plan(scenario, paths, tuple(runs), dict(identity or {}), tuple(resolvers.sections()))


def _prefix(identity: Mapping[str, str]) -> Any:
    return hashlib.sha256(f'{{"identity":{canonical_json(dict(identity))},"scenario":'.encode())


def _refuse_too_many(points: int, seeds: int, scenario: Scenario) -> None:
    """Refuse plans that are too large, before they are made: a plan is held in memory, and its runs have to finish."""
    if points * seeds > MAX_RUNS:
        raise ScenarioError(
            f"these are {points * seeds:,} runs ({points:,} points with {seeds:,} seeds each); a plan has at most "
            f"{MAX_RUNS:,}: take fewer values, fewer axes, fewer seeds, or several plans",
            scenario.source.label,
        )


def _with_seed(hashed: Any, seed: int) -> str:
    final = hashed.copy()
    final.update(f',"seed":{seed}}}'.encode())
    return str(final.hexdigest())[:ID_DIGITS]


def _refuse_same(runs: Sequence[Run], scenario: Scenario) -> None:
    """Refuse two points that resolve to the same run, whose result would be counted twice."""
    first: dict[str, Run] = {}
    problems = []
    for run in runs:
        other = first.setdefault(run.id, run)
        if other is not run:
            problems.append(Problem(f"these are one and the same run: ({other.label}) and ({run.label}); drop one"))
    if problems:
        raise ScenarioError(problems[:10], scenario.source.label)
