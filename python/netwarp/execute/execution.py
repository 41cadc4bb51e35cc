"""Types and helpers for all ways of executing a plan: the runs that are missing, and their outcomes."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from netwarp.engines import Outcome
from netwarp.plan import Plan, Run
from netwarp.store.making import ResultWriter
from netwarp.store.run_status import RunStatus


@dataclass
class Execution:
    """The outcome of a plan: `done` maps the ids of finished runs to their outcomes, `kept` were there already."""

    done: dict[str, Outcome] = field(default_factory=dict)
    kept: list[str] = field(default_factory=list)
    interrupted: bool = False

    @property
    def failed(self) -> list[str]:
        """Ids of the runs that failed now."""
        return [run_id for run_id, outcome in self.done.items() if outcome.status == RunStatus.FAILED]


class RunEvent(StrEnum):
    """An event of a run while its plan is executed."""

    START = "start"
    END = "end"
    KEPT = "kept"
    """It was there already."""


Progress = Callable[[RunEvent, Run, Outcome | None], None]
"""A callback for a run's events; its outcome comes with its end."""


def missing_runs(
    plan: Plan, result: ResultWriter, execution: Execution, again: Collection[RunStatus], progress: Progress
) -> Iterator[Run]:
    """Yield the runs that `result` does not have yet, has with a status of `again`, or that failed because of their
    machine; note the others as kept."""
    for run in plan:
        if not result.is_complete(run.id) or result.status_of(run.id) in again or result.is_by_host(run.id):
            yield run
            continue
        execution.kept.append(run.id)
        progress(RunEvent.KEPT, run, None)
