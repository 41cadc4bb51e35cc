"""The needs of the view `energy-cost`: two axes, and energy."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from netwarp.plan import Plan
from netwarp.scenario import Scenario

AXES = "the view energy-cost needs two axes, of which one is a flow's control, such as flows.bulk.cc"
ENERGY = "the view energy-cost needs runs with energy: give links or nodes a model (`energy`), and record packets"
_CONTROL = re.compile(r"flows\.([^.]+)\.cc")


class Axes(NamedTuple):
    """The axis of the control, the flow that has it, and the other axis."""

    control: str
    flow: str
    other: str


def axes_of(axes: Sequence[str]) -> Axes | None:
    """The two axes of a result; None if there are not exactly these."""
    found = [(axis, match[1]) for axis in axes if (match := _CONTROL.fullmatch(axis))]
    others = [axis for axis in axes if not _CONTROL.fullmatch(axis)]
    return Axes(*found[0], others[0]) if len(found) == 1 and len(others) == 1 else None


def lacking(plan: Plan, axes: Sequence[str], *, exact: bool) -> str | None:
    """See `netwarp.steps.needs.Needs`."""
    if axes_of(axes) is None:
        return AXES
    if not exact or not any(_has_energy(run.scenario) for run in plan.points):
        return ENERGY
    return None


def _has_energy(scenario: Scenario) -> bool:
    models = [link.energy for link in scenario.links.values()] + [node.energy for node in scenario.nodes.values()]
    return scenario.record.exact and any(model is not None for model in models)
