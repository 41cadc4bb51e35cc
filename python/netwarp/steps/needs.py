"""Check what a scenario asks of its results before any run: metrics that there are, and the needs of views.

A study offers the needs of its views, such as axes and records, beside these (`netwarp.studies.base.Study`).
"""

from collections.abc import Iterator, Sequence
from typing import Protocol

from netwarp.flows import KINDS
from netwarp.plan import Plan
from netwarp.scenario.check.study import without_scope
from netwarp.scenario.errors import ScenarioError, did_you_mean
from netwarp.scenario.load.loader import problems_at
from netwarp.scenario.model import Expectation, Scenario
from netwarp.scenario.source import Keys
from netwarp.store.summary import CASE
from netwarp.studies import registry
from netwarp.values.choices import listed

_ALL = "docs/metrics.md has all"


class Needs(Protocol):
    """The function to which a study refers as the needs of a view."""

    def __call__(self, plan: Plan, axes: Sequence[str], *, exact: bool) -> str | None:
        """Say in a sentence what this plan lacks for the view, and what to do; None if it lacks nothing.

        `axes` are those of the result that the plan makes (`ResultDir.axes`); `exact`: the engine makes exact records.
        """


def refuse_unshowable(plan: Plan, *, exact: bool = True) -> None:
    """Refuse a plan whose scenario names metrics that do not exist, or views that its runs cannot fill, before any run.

    `exact`: see `Needs`. Raises ScenarioError with a sentence for each of them, StudyError.
    """
    if found := [*_unknown_metrics(plan.scenario), *_unshowable(plan, exact)]:
        raise ScenarioError(problems_at(found, plan.scenario.source), plan.scenario.source.label)


def _unknown_metrics(scenario: Scenario) -> Iterator[tuple[Keys, str]]:
    """Metrics of expectations and figures that the catalogue does not have, or that no flow has; a figure may name the
    stem of a distribution."""
    for index, expectation in enumerate(scenario.expect):
        why = _unknown(expectation.metric, by_stem=False)
        if why := why or _measured_by_none(expectation, scenario):
            yield ("expect", index, "metric"), why
    for index, figure in enumerate(scenario.figures):
        if figure.metric and (why := _unknown(figure.metric, by_stem=True)):
            yield ("figures", index), why


def _unknown(metric: str, *, by_stem: bool) -> str | None:
    """Say why this is not a metric, nor with `by_stem` the stem of a distribution; None if it is."""
    # Only for what names metrics: this is in the way of the first machine's start.
    from netwarp.analysis.catalogue.metrics import CATALOGUE, entry_of

    if why := without_scope(metric):
        return why
    scope, _, name = metric.partition(".")
    stems = [entry.stem for entry in CATALOGUE[scope] if entry.spread] if by_stem else []
    if entry_of(scope, name) or name in stems:
        return None
    known = [*(name for entry in CATALOGUE[scope] for name in entry.names), *stems]
    return f'"{metric}" is not a metric{did_you_mean(metric, [f"{scope}.{name}" for name in known])}; {_ALL}'


def _measured_by_none(expectation: Expectation, scenario: Scenario) -> str | None:
    """Say that only flows of other tools have the metric of an expectation; None if one may have it.

    The flows count that `where` names; programs under a command make flows that are not known before.
    """
    from netwarp.analysis.catalogue.tools import has_metric

    scope, _, name = expectation.metric.partition(".")
    if scenario.command is not None or scenario.workload.makes_network or not scenario.workload.needs_flows:
        return None
    named = {str(one) for one in listed(expectation.where.get("name", ())) if one in scenario.flows}
    tools = {tool for flow in named or scenario.flows for tool in _tools_of(flow, scenario)}
    if any(tool not in KINDS or has_metric(scope, name, KINDS[tool]) for tool in tools):
        return None
    those = ", ".join(tool for tool, kind in KINDS.items() if has_metric(scope, name, kind))
    return (
        f'"{expectation.metric}" is measured of flows with the tool {those}, and '
        f"{'these' if named else 'the flows here'} have {', '.join(sorted(tools))}; take another metric or flow"
    )


def _tools_of(flow: str, scenario: Scenario) -> set[str]:
    """The tools that a flow has at any point of a scenario."""
    keys = ("flows", flow, "tool")
    varied = [(path, (value,)) for case in scenario.cases for path, value in case.set.items()]
    varied += [(path, (value,)) for preset in scenario.presets.values() for path, value in preset.items()]
    varied += scenario.sweep.items()
    return {
        scenario.flows[flow].tool,
        *(str(value) for path, values in varied if scenario.keys_of(path) == keys for value in values),
    }


def _unshowable(plan: Plan, exact: bool) -> Iterator[tuple[Keys, str]]:
    cases = [CASE] if any(run.case is not None for run in plan) else []
    for index, name in enumerate(plan.scenario.views):
        needs: Needs | None = registry.needs(name)
        if needs is not None and (why := needs(plan, [*cases, *plan.axes], exact=exact)):
            yield ("views", index), f"{why}; or leave the view out (--set views=[])"
