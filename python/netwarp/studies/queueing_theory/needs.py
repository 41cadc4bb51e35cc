"""The needs of the view `queueing-theory`: one queue of the theory, at several loads."""

from __future__ import annotations

from collections.abc import Sequence

from netwarp.lab import build_lab
from netwarp.plan import Plan
from netwarp.store.errors import StoreError
from netwarp.studies.queueing_theory.system import system_of

SEVERAL = "the view queueing-theory compares one queue at several loads: sweep the flow's rate alone"


def lacking(plan: Plan, axes: Sequence[str], *, exact: bool) -> str | None:
    """See `netwarp.steps.needs.Needs`."""
    try:
        systems = {system_of(build_lab(run))[0] for run in plan.points}
    except StoreError as error:
        return str(error)
    return None if len(systems) == 1 else SEVERAL
