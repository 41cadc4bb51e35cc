"""The content of `plan.json`, and whether two plans mean the same results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from netwarp.store.errors import PlanMismatchError

if TYPE_CHECKING:
    from netwarp.store.documents import PlanJson, PlannedRunJson

IMPORTED = "import"
"""The engine of a plan whose runs were imported (`netwarp import`)."""


def refuse_other_plan(path: Path, here: PlanJson, wanted: PlanJson) -> None:
    """Raise PlanMismatchError if the plan of the result at `path` has other runs than the wanted one."""
    if same_plan(here, wanted):
        return
    raise PlanMismatchError(
        f"{path} holds the result of another plan ({difference(here, wanted)}); "
        "choose another directory with -o, or remove it"
    )


def same_plan(one: PlanJson, other: PlanJson) -> bool:
    """Whether both plans have the same runs under the same names, in any order."""
    return bool(_sense(one) == _sense(other))


def difference(here: PlanJson, wanted: PlanJson) -> str:
    """The difference of two plans, in a few words."""
    if here.get("name") != wanted.get("name"):
        return f"the scenario {here.get('name')}"
    if here.get("axes") != wanted.get("axes"):
        return f"its axes are {', '.join(here.get('axes', [])) or 'none'}"
    made, planned = here.get("identity", {}), wanted.get("identity", {})
    if others := [key for key in sorted({*made, *planned}) if made.get(key) != planned.get(key)]:
        return f"made with another {' and another '.join(others)}"
    known = {place_of(run) for run in here.get("runs", [])}
    asked = {place_of(run) for run in wanted.get("runs", [])}
    if known == asked:
        return "the scenario has changed since"
    return f"{len(known - asked)} of its {len(known)} runs are not asked for, {len(asked - known)} others are"


def _sense(plan: PlanJson) -> tuple[str | None, list[str] | None, dict[str, str]]:
    runs = {run["id"]: place_of(run) for run in plan.get("runs", [])}
    return plan.get("name"), plan.get("axes"), runs


def place_of(run: PlannedRunJson) -> str:
    """The point of a run as JSON, so that a plan that was read from a file equals the one that was written."""
    return json.dumps([run["seed"], run.get("case"), run.get("point")], sort_keys=True)
