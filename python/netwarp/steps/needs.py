"""Check what a scenario asks of its results before any run: metrics that there are, and the needs of views.

A study offers the needs of its views, such as axes and records, beside these (`netwarp.studies.base.Study`).
"""

from collections.abc import Iterator, Sequence
from typing import Protocol

from netwarp.analysis.catalogue.metrics import CATALOGUE, entry_of, stem_entry
from netwarp.plan import Plan
from netwarp.scenario.errors import ScenarioError, did_you_mean
from netwarp.scenario.load.loader import problems_at
from netwarp.scenario.model import Scenario
from netwarp.scenario.source import Keys
from netwarp.store.summary import CASE
from netwarp.studies import registry


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
    named = [(("expect", n, "metric"), one.metric, False) for n, one in enumerate(scenario.expect)]
    named += [(("figures", n), one.metric, True) for n, one in enumerate(scenario.figures) if one.metric]
    for keys, metric, by_stem in named:
        scope, _, name = metric.partition(".")
        if entry_of(scope, name) or (by_stem and stem_entry(scope, name)):
            continue
        known = [n for entry in CATALOGUE.get(scope, ()) for n in (*entry.names, *([entry.stem] if by_stem else []))]
        what = f'"{metric}" is not a metric' if known else f'"{scope}" of "{metric}" is not what metrics are of'
        yield keys, f"{what}{did_you_mean(name if known else scope, known or CATALOGUE)}; docs/metrics.md has all"


def _unshowable(plan: Plan, exact: bool) -> Iterator[tuple[Keys, str]]:
    cases = [CASE] if any(run.case is not None for run in plan) else []
    for index, name in enumerate(plan.scenario.views):
        needs: Needs | None = registry.needs(name)
        if needs is not None and (why := needs(plan, [*cases, *plan.axes], exact=exact)):
            yield ("views", index), f"{why}; or leave the view out (--set views=[])"
