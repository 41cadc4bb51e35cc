"""Chooses the runs and flows that the page shows over time, and names those that it leaves out."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from netwarp.analysis.flow.flows import FlowData
from netwarp.analysis.summary.selection import SEED
from netwarp.common.quantities import count
from netwarp.plots.timeseries.comparison import MAX_SEEDS
from netwarp.store.result import ResultDir
from netwarp.store.run_status import RunStatus
from netwarp.store.summary import PlannedRun, RunOutcome, axis_text

MAX_RUNS = 60
MAX_MEMBERS = 8
"""The most flows of one name that are shown."""


@dataclass(frozen=True)
class Choice:
    """The runs that are shown over time, the axes in which they differ, and sentences on the others."""

    runs: tuple[PlannedRun, ...]
    axes: tuple[str, ...]
    omitted: tuple[str, ...]


def choose(result: ResultDir, outcomes: Sequence[RunOutcome]) -> Choice:
    """The run with the lowest seed that did not fail at each point; without axes the first seeds."""
    usable = sorted(
        (outcome.run for outcome in outcomes if outcome.status in (RunStatus.OK, RunStatus.SUSPECT)),
        key=lambda run: run.seed,
    )
    axes = result.axes or ([SEED] if len(usable) > 1 else [])
    first: dict[tuple[str, ...], PlannedRun] = {}
    for run in usable:
        first.setdefault(tuple(axis_text(at(run, axis)) for axis in axes), run)
    position = {run.id: number for number, run in enumerate(result.planned)}
    chosen = sorted(first.values(), key=lambda run: position[run.id])
    most = MAX_SEEDS if axes == [SEED] else MAX_RUNS
    return Choice(tuple(chosen[:most]), tuple(axes), tuple(_omitted(usable, chosen, most, axes)))


def at(run: PlannedRun, axis: str) -> object:
    """A run's value on an axis."""
    return run.seed if axis == SEED else run.point.get(axis)


def _omitted(
    usable: Sequence[PlannedRun], chosen: Sequence[PlannedRun], most: int, axes: Sequence[str]
) -> Iterator[str]:
    if more := len(usable) - len(chosen):
        seeds = sorted({run.seed for run in chosen})
        which = f"seed {seeds[0]}" if len(seeds) == 1 else "the lowest seed that did not fail"
        yield f"Of each point {which} is shown; {count(more, 'run')} with other seeds are in the tables alone."
    if len(chosen) > most:
        what = "seeds" if list(axes) == [SEED] else "points in the plan's order"
        yield f"The first {most} {what} are shown of {len(chosen)}; the others are in the tables alone."


def members(flows: Sequence[FlowData]) -> tuple[list[FlowData], list[str]]:
    """The flows to show, which are the first few of each name, and sentences on the others."""
    kept: list[FlowData] = []
    omitted = []
    for group, of_group in groupby(flows, key=lambda data: data.flow.group):
        listed = list(of_group)
        kept += listed[:MAX_MEMBERS]
        if len(listed) > MAX_MEMBERS:
            omitted.append(f"Of the {len(listed)} flows {group} the first {MAX_MEMBERS} are shown each by itself.")
    return kept, omitted
