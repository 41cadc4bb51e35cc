"""The needs of the view `tuners`: an axis of them."""

from __future__ import annotations

from collections.abc import Sequence

from netwarp.plan import Plan

AXIS = "run.tuner"
MISSING = f'the view tuners compares tuners, but this study has only one; sweep "{AXIS}"'


def lacking(plan: Plan, axes: Sequence[str], *, exact: bool) -> str | None:
    """See `netwarp.steps.needs.Needs`."""
    return None if AXIS in axes else MISSING
