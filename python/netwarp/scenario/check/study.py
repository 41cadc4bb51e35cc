"""Checks of sweep axes and cases, which make many runs of one scenario, and of expectations on their results."""

from __future__ import annotations

import itertools
import json
import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from netwarp.flows import kind_of
from netwarp.scenario.check.presets import check_presets
from netwarp.scenario.errors import did_you_mean
from netwarp.scenario.model import INTERVAL, TUNER, Expectation, Scenario
from netwarp.scenario.source import Keys
from netwarp.values.choices import listed

Found = tuple[Keys, str]
SCOPES = ("run", "flow", "subflow", "queue", "link", "node", "place")
MAX_SELECTED = 100_000
_NAMED = ("run", "flow", "subflow", "queue", "link")
"""Scopes whose names follow from the scenario; a place has one when something is dropped there."""


def paths_of(scenario: Scenario) -> Iterator[str]:
    """Every path that its sweep, its presets and its cases name."""
    yield from scenario.sweep
    yield from (path for settings in scenario.presets.values() for path in settings)
    yield from (path for case in scenario.cases for path in case.set)


def check_study(
    scenario: Scenario, resolved: Mapping[str, tuple[str, ...] | str], overridden: Collection[str] = ()
) -> Iterator[Found]:
    """Check the sweep, the cases and the expectations of a scenario.

    `resolved` has the keys of each of its `paths_of`, or the reason why it has none. `overridden` are the paths
    that `--set` and `--sweep` replaced. Whether cases set these too is a question of which cases are run: see
    `check_given`.
    """
    axes: dict[tuple[str, ...], str] = {}
    for path, values in scenario.sweep.items():
        yield from _check_axis(path, values, resolved[path], axes)
    yield from check_presets(scenario, resolved)
    of_the_file = {keys: path for keys, path in axes.items() if f'sweep."{path}"' not in overridden}
    yield from _check_cases(scenario, resolved, of_the_file)
    for index, expectation in enumerate(scenario.expect):
        for field, why in check_expectation(expectation, scenario, overridden):
            yield ("expect", index, field), why


def _check_axis(
    path: str, values: tuple[Any, ...], keys: tuple[str, ...] | str, axes: dict[tuple[str, ...], str]
) -> Iterator[Found]:
    where: Keys = ("sweep", path)
    if isinstance(keys, str):
        yield where, keys
        return
    for other_keys, other in axes.items():
        shorter = min(len(other_keys), len(keys))
        if other_keys[:shorter] == keys[:shorter]:
            yield where, f'sets the same as the axis "{other}"; leave one of them out'
    axes[keys] = path
    if not values:
        yield where, "has no values; list at least one, or leave the axis out"
    written = [json.dumps(value, sort_keys=True, default=str) for value in values]
    for value in (value for value, count in Counter(written).items() if count > 1):
        yield where, f"lists {value} more than once"


def _check_cases(
    scenario: Scenario, resolved: Mapping[str, tuple[str, ...] | str], axes: Mapping[tuple[str, ...], str]
) -> Iterator[Found]:
    names = [case.name for case in scenario.cases]
    if scenario.baseline is not None and scenario.baseline not in names:
        yield ("baseline",), f'there is no case "{scenario.baseline}"{did_you_mean(scenario.baseline, names)}'
    for index, case in enumerate(scenario.cases):
        if case.name in names[:index]:
            yield ("cases", index, "name"), f'there is another case "{case.name}"; names of cases are unique'
        for path in case.set:
            where: Keys = ("cases", index, "set", path)
            keys = resolved[path]
            if isinstance(keys, str):
                yield where, keys
                continue
            for axis_keys, axis in axes.items():
                shorter = min(len(axis_keys), len(keys))
                if axis_keys[:shorter] == keys[:shorter]:
                    yield where, f'the sweep sets "{axis}" as well; a case sets what is not swept'


def without_scope(metric: str) -> str | None:
    """Say that a metric does not begin with a scope; None if it does."""
    scope, dot, name = metric.partition(".")
    if dot and name and scope in SCOPES:
        return None
    meant = did_you_mean(metric, [f"{one}.{name}" for one in SCOPES]) if dot and name else ""
    return (
        f'"{metric}" is not a metric{meant}; write scope and name, such as "flow.goodput_mbps"; scopes are '
        f"{', '.join(SCOPES)}"
    )


def check_expectation(
    expectation: Expectation, scenario: Scenario, overridden: Collection[str]
) -> Iterator[tuple[str, str]]:
    """Check an expectation of a scenario; each finding is a field and a sentence."""
    scope = expectation.metric.partition(".")[0]
    if why := without_scope(expectation.metric):
        yield "metric", why
    yield from _check_kind(expectation, scenario, overridden)
    for field, selection in [("where", expectation.where), *(("ascending", step) for step in expectation.ascending)]:
        for key, value in selection.items():
            for one in listed(value):
                if why := _check_where(scope, key, one, scenario, overridden):
                    yield field, why
            if value == ():
                yield field, f"`{key}` lists nothing, so nothing is selected"
    yield from _check_order(expectation)


def _check_order(expectation: Expectation) -> Iterator[tuple[str, str]]:
    """Check that an order has at least two steps, which vary the same keys, none of them fixed by `where`."""
    steps = expectation.ascending
    if not steps:
        return
    keys = set(steps[0])
    if len(steps) < 2:
        yield "ascending", 'an order has at least two steps, such as [{ case = "small" }, { case = "large" }]'
    elif not keys or any(set(step) != keys for step in steps):
        yield "ascending", "every step of an order names the same things, such as `case` in each of them"
    elif fixed := sorted(keys & set(expectation.where)):
        yield "ascending", f"`{fixed[0]}` is fixed by `where` already; name it in one of the two"
    else:
        selected = [[listed(step[key]) for key in sorted(keys)] for step in steps]
        if sum(math.prod(map(len, values)) for values in selected) > MAX_SELECTED:
            yield "ascending", f"its steps select more than {MAX_SELECTED:,} combinations; name fewer values"
            return
        chosen = [set(itertools.product(*values)) for values in selected]
        if len(set.union(*chosen)) < sum(map(len, chosen)):
            yield "ascending", "two steps select the same, so the order could never hold"


def _check_kind(expectation: Expectation, scenario: Scenario, overridden: Collection[str]) -> Iterator[tuple[str, str]]:
    """Check that an expectation is exactly one of bounds, an order, and a value that a mean equals."""
    low, high = expectation.min, expectation.max
    bounded = low is not None or high is not None
    kinds = [bounded, bool(expectation.ascending), expectation.equals is not None]
    if not any(kinds):
        yield "metric", "expects nothing; give `min`, `max` or both, an order (`ascending`), or `equals` and `within`"
    elif sum(kinds) > 1:
        field = "ascending" if expectation.ascending else "equals"
        yield field, "bounds, an order and a value are separate expectations; write an [[expect]] for each"
    elif low is not None and high is not None and low > high:
        yield "min", f"min {low:g} is above max {high:g}, so it could never hold"
    if expectation.equals is None:
        if expectation.within is not None:
            yield "within", "needs `equals`, the expected value"
    elif expectation.within is None:
        yield "equals", 'no measurement is exact; say how close with within = "2%", or within = "interval"'
    elif expectation.within == INTERVAL and len(scenario.seeds) < 2 and "seeds" not in overridden:
        yield "within", "a confidence interval needs at least two seeds, such as seeds = 5"
    if expectation.share is not None:
        if expectation.equals is not None:
            yield "share", "cannot be combined with `equals`, which is about the mean over the seeds"
        elif "seed" in {*expectation.where, *itertools.chain.from_iterable(expectation.ascending)}:
            yield "share", "is about all seeds, so `where` cannot choose a `seed`"


def _check_where(scope: str, key: str, value: object, scenario: Scenario, overridden: Collection[str]) -> str | None:
    """The reason why a condition of a where-clause can never hold; None if it can."""
    known: Sequence[object]
    if key == "name":
        if scope not in _NAMED or _is_name(scope, str(value), scenario):
            return None
        return f'there is no {scope} "{value}"{did_you_mean(str(value), _names(scope, scenario))}'
    if key == "case":
        known = [case.name for case in scenario.cases]
        if value in known:
            return None
        return f'there is no case "{value}"{did_you_mean(str(value), map(str, known))}'
    if {key, f'sweep."{key}"'} & {*overridden} or (key == "seed" and "seeds" in overridden):
        return None  # --set or --sweep chose part of the study, and the expectation may be about another
    elif key == "seed":
        known, why = scenario.seeds, f"seed {value} is not among the scenario's seeds"
    elif key in scenario.sweep:
        known, why = scenario.sweep[key], f'the axis "{key}" never has the value {value!r}'
    elif key == TUNER and not any(TUNER in case.set for case in scenario.cases):
        known = ["default", *scenario.tuners]
        why = f'there is no tuner "{value}"{did_you_mean(str(value), map(str, known))}'
    else:
        choices = ["name", "case", "seed", *scenario.sweep]
        known, why = [], f'"{key}" selects nothing; use name, case, seed or a swept path{did_you_mean(key, choices)}'
    return None if value in known else why


def _is_name(scope: str, name: str, scenario: Scenario) -> bool:
    """Whether metrics of this scope carry the name: a flow's or its group's, `link:node`, none for the run."""
    if scope == "flow":
        group, dot, number = name.rpartition(".")
        flow = scenario.flows.get(group if dot else name)
        if flow is None or not dot:
            return flow is not None
        return re.fullmatch("0|[1-9][0-9]{0,3}", number) is not None and int(number) < flow.count > 1
    if scope == "subflow":
        flow_name, _, link = name.rpartition(":")
        return link in scenario.links and _is_name("flow", flow_name, scenario)
    return name in _names(scope, scenario)


def _names(scope: str, scenario: Scenario) -> list[str]:
    """The names that metrics of this scope carry; for flows the names of the groups."""
    if scope == "flow":
        return list(scenario.flows)
    if scope == "subflow":
        flows = [(name, flow.from_) for name, flow in scenario.flows.items() if kind_of(flow.tool).subflows]
        return [f"{name}:{link}" for name, own in flows for link, of in scenario.links.items() if own in of.ends]
    if scope in {"queue", "link"}:
        return [f"{name}:{node}" for name, link in scenario.links.items() for node in link.ends]
    return [""]
