"""What every way of executing a plan shares: what is still to be made, and what became of it."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field

from netwarp.engines import Outcome
from netwarp.plan import Plan, Run
from netwarp.store.making import ResultWriter


@dataclass
class Execution:
    """What became of a plan: `done` maps the ids of finished runs to their outcomes, `kept` were there already."""

    done: dict[str, Outcome] = field(default_factory=dict)
    kept: list[str] = field(default_factory=list)
    interrupted: bool = False

    @property
    def failed(self) -> list[str]:
        """Ids of the runs that failed now."""
        return [run_id for run_id, outcome in self.done.items() if outcome.status == "failed"]


Progress = Callable[[str, Run, Outcome | None], None]
"""Hears ("start" | "end" | "kept", run, outcome)."""


def missing_runs(
    plan: Plan, result: ResultWriter, execution: Execution, again: Collection[str], progress: Progress
) -> Iterator[Run]:
    """The runs that `result` does not have yet, or with a status of `again`, or that failed for what their machine did;
    the others are noted as kept."""
    for run in plan:
        if not result.is_complete(run.id) or result.status_of(run.id) in again or result.is_by_host(run.id):
            yield run
            continue
        execution.kept.append(run.id)
        progress("kept", run, None)
