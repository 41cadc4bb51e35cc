"""The needs of the view `ab-interference`: runs in which all, none and some flows are treated."""

from __future__ import annotations

from collections.abc import Sequence

from netwarp.plan import Plan

CONTROL, TREATED = "control", "treated"
"""The groups of flows whose numbers are the shares."""
ALL, NONE = 1.0, 0.0
MIXTURES = (
    f"the view ab-interference needs good runs in which all, none and some flows are in the group {TREATED}, "
    f"and the others of the group {CONTROL}; sweep flows.{CONTROL}.count and flows.{TREATED}.count by cases"
)


def share_of(treated: int, control: int) -> float:
    """The share of treated flows among those of both groups."""
    return treated / (treated + control) if treated + control else NONE


def lacking(plan: Plan, axes: Sequence[str], *, exact: bool) -> str | None:
    """See `netwarp.steps.needs.Needs`."""
    flows = [run.scenario.flows for run in plan.points]
    shares = {
        share_of(*(one[group].count if group in one else 0 for group in (TREATED, CONTROL)))
        for one in flows
        if TREATED in one or CONTROL in one
    }
    return None if {ALL, NONE} < shares else MIXTURES
