"""The needs of views, which are compared with the plan before any run: the axes that they show, and records.

A study offers them beside its views (`netwarp.studies.base.Study`).
"""

from collections.abc import Iterator, Sequence
from typing import Protocol

from netwarp.plan import Plan
from netwarp.scenario.errors import ScenarioError
from netwarp.scenario.load.loader import problems_at
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
    """Refuse a plan whose scenario names views that its runs cannot fill, before any run. `exact`: see `Needs`.

    Raises ScenarioError with a sentence for each view, StudyError.
    """
    if found := list(_unshowable(plan, exact)):
        raise ScenarioError(problems_at(found, plan.scenario.source), plan.scenario.source.label)


def _unshowable(plan: Plan, exact: bool) -> Iterator[tuple[Keys, str]]:
    cases = [CASE] if any(run.case is not None for run in plan) else []
    for index, name in enumerate(plan.scenario.views):
        needs: Needs | None = registry.needs(name)
        if needs is not None and (why := needs(plan, [*cases, *plan.axes], exact=exact)):
            yield ("views", index), f"{why}; or leave the view out (--set views=[])"
