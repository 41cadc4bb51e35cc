"""Runs of a plan on this machine: as many at once as asked for, each on a CPU of its own."""

import os
import queue
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field

from netwarp.engines import Engine, Outcome
from netwarp.execute.single import Cancelled, execute_run
from netwarp.plan import Plan, Run
from netwarp.store.result import ResultDir

_POLL_S = 0.2


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


def processors() -> list[int]:
    """The CPUs that this process may use."""
    return sorted(os.sched_getaffinity(0))


def execute(
    plan: Plan,
    engine: Engine,
    result: ResultDir,
    *,
    jobs: int | None = None,
    fail_fast: bool = False,
    retry_failed: bool = False,
    progress: Progress = lambda event, run, outcome: None,
) -> Execution:
    """Make every run of `plan` that `result` does not have yet, `jobs` at once (default: one for each CPU).

    `progress` hears ("start" | "end" | "kept", run, outcome), from this thread for "end". A KeyboardInterrupt ends the
    runs in flight, which leave nothing, keeps what is done, and returns with `interrupted`. Raises StoreError.
    """
    execution = Execution()
    todo = list(_missing(plan, result, execution, retry_failed, progress))
    cancelled = threading.Event()
    cpus = _slots(jobs or len(processors()))

    def work(run: Run) -> Outcome:
        cpu = cpus.get()
        try:
            if cancelled.is_set():
                raise Cancelled(run.id)
            progress("start", run, None)
            outcome = execute_run(run, engine, result, cpu, cancelled)
            if fail_fast and outcome.status == "failed":
                cancelled.set()  # here, before this thread takes the next run
            return outcome
        finally:
            cpus.put(cpu)

    with ThreadPoolExecutor(cpus.qsize()) as pool:
        pending = {pool.submit(work, run): run for run in todo}
        try:
            while pending:
                _collect(pending, execution, progress)
                if fail_fast and execution.failed:
                    break
        except KeyboardInterrupt:
            execution.interrupted = True
        finally:
            cancelled.set()
            for future in pending:
                future.cancel()
    return execution


def _missing(
    plan: Plan, result: ResultDir, execution: Execution, retry_failed: bool, progress: Progress
) -> Iterable[Run]:
    for run in plan:
        if not result.is_complete(run.id):
            yield run
            continue
        if retry_failed and result.run(run.id).status().get("status") == "failed":
            yield run
            continue
        execution.kept.append(run.id)
        progress("kept", run, None)


def _slots(count: int) -> "queue.SimpleQueue[int]":
    """One place for each run at a time: CPUs in turn, so that no two runs share one before they must.

    The first one differs between commands, or all that run beside each other would begin on the same CPU.
    """
    available = processors()
    slots: queue.SimpleQueue[int] = queue.SimpleQueue()
    for number in range(count):
        slots.put(available[(os.getpid() + number) % len(available)])
    return slots


def _collect(pending: "dict[Future[Outcome], Run]", execution: Execution, progress: Progress) -> None:
    finished, _ = wait(pending, timeout=_POLL_S, return_when=FIRST_COMPLETED)
    for future in finished:
        run = pending.pop(future)
        try:
            outcome = future.result()
        except Cancelled:
            continue  # by a failure elsewhere, with fail_fast
        execution.done[run.id] = outcome
        progress("end", run, outcome)
