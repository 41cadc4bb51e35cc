"""Check what a scenario asks of its results before any run: metrics that there are, and the needs of views.

A study offers the needs of its views, such as axes and records, beside these (`netwarp.studies.base.Study`).
"""

from collections.abc import Iterator, Sequence
from typing import Protocol

from netwarp.plan import Plan
from netwarp.scenario.errors import ScenarioError, did_you_mean
from netwarp.scenario.load.loader import problems_at
from netwarp.scenario.model import Scenario
from netwarp.scenario.source import Keys
from netwarp.store.summary import CASE
from netwarp.studies import registry

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
    """Metrics of expectations and figures that the catalogue does not have; a figure may name the stem of several."""
    for index, expectation in enumerate(scenario.expect):
        if why := _unknown(expectation.metric, by_stem=False):
            yield ("expect", index, "metric"), why
    for index, figure in enumerate(scenario.figures):
        if figure.metric and (why := _unknown(figure.metric, by_stem=True)):
            yield ("figures", index), why


def _unknown(metric: str, *, by_stem: bool) -> str | None:
    """Say why this is not a metric, nor with `by_stem` the stem of several; None if it is."""
    # Only for what names metrics: this is in the way of the first machine's start.
    from netwarp.analysis.catalogue.metrics import CATALOGUE, entry_of, stem_entry

    scope, _, name = metric.partition(".")
    if entry_of(scope, name) or (by_stem and stem_entry(scope, name)):
        return None
    if scope not in CATALOGUE:
        return f'"{scope}" of "{metric}" is not what metrics are of{did_you_mean(scope, CATALOGUE)}; {_ALL}'
    known = [n for entry in CATALOGUE[scope] for n in (*entry.names, *([entry.stem] if by_stem else []))]
    return f'"{metric}" is not a metric{did_you_mean(name, known)}; {_ALL}'


def _unshowable(plan: Plan, exact: bool) -> Iterator[tuple[Keys, str]]:
    cases = [CASE] if any(run.case is not None for run in plan) else []
    for index, name in enumerate(plan.scenario.views):
        needs: Needs | None = registry.needs(name)
        if needs is not None and (why := needs(plan, [*cases, *plan.axes], exact=exact)):
            yield ("views", index), f"{why}; or leave the view out (--set views=[])"
