"""The needs of the view `coexistence-matrix`: the congestion controls of two flows as axes."""

from __future__ import annotations

import re
from collections.abc import Sequence

from netwarp.plan import Plan

AXES = "the view coexistence-matrix needs two axes such as flows.a.cc and flows.b.cc to sweep"
_CONTROL = re.compile(r"flows\.([^.]+)\.cc")


def swept_controls(axes: Sequence[str]) -> list[str]:
    """The axes of flows' congestion controls, in their order."""
    return [axis for axis in axes if _CONTROL.fullmatch(axis)]


def lacking(plan: Plan, axes: Sequence[str], *, exact: bool) -> str | None:
    """See `netwarp.steps.needs.Needs`."""
    return None if len(swept_controls(axes)) >= 2 else AXES
