"""Compares the disk that a plan is estimated to need with the room that there is, before its runs are made."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from netwarp.common.quantities import count, size
from netwarp.lab.disk import PlanUse, estimate_plan
from netwarp.plan import Plan
from netwarp.store.making import ResultWriter
from netwarp.values.keep import Keep


def disk_words(use: PlanUse) -> str:
    """The estimate of a plan as a sentence: the disk it takes as configured, and with the other choices of `keep`."""
    others = [f'{size(left)} with record.keep = "{keep}"' for keep, left in _less(use)]
    return f"about {size(use.kept)} of disk, estimated" + (f" ({', '.join(others)})" if others else "")


def _less(use: PlanUse) -> list[tuple[Keep, float]]:
    """The choices of `keep` that leave less of a plan, by a tenth at least."""
    return [(keep, left) for keep, left in use.by_keep.items() if left < 0.9 * use.kept]


def room_notes(plan: Plan, directory: Path, at_once: int, *, exact: bool) -> Iterator[str]:
    """Say so if the runs that are missing in a result's directory are estimated not to fit on its disk.

    `at_once`: the number of runs that are made at the same time, whose tables are all there until they are complete.
    `exact`: whether the engine makes exact records.
    """
    missing = sum(not ResultWriter(directory).is_complete(run.id) for run in plan)
    if not missing or (use := estimate_plan(plan, exact=exact)) is None:
        return
    each = use.kept / len(plan)
    needed = each * missing + max(use.largest - each, 0) * min(at_once, missing)
    place = next((path for path in (directory, *directory.absolute().parents) if path.exists()), Path("/"))
    try:
        room = os.statvfs(place)
    except OSError:
        return
    free = room.f_bavail * room.f_frsize
    if needed <= free:
        return
    less = [f"{size(left)} with --set record.keep={keep}" for keep, left in _less(use)]
    choices = [f"keep less ({', '.join(less)})"] if less else []
    if use.captured > use.kept / 2:
        choices += [f"capture less ({size(use.captured)} are captures: [[record.captures]] of the scenario)"]
    choices += ["name a directory on another disk (-o)", "make fewer or shorter runs"]
    yield (
        f"{count(missing, 'run')} will take about {size(needed)}, by an estimate (docs/records.md), and the disk of "
        f"{directory} has {size(free)} free; a run that finds the disk full fails: {', or '.join(choices)}"
    )
