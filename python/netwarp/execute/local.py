"""Execution of a plan on this machine: several runs at once, each on a separate CPU."""

import contextlib
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import partial
from importlib import import_module

from netwarp.engines import Engine, EngineError, Outcome, differing
from netwarp.execute.execution import Execution, Progress, RunEvent, missing_runs
from netwarp.execute.processors import claimed_processors, processors
from netwarp.execute.single import Cancelled, changed, execute_run
from netwarp.plan import Plan, Run
from netwarp.store.making import ResultWriter
from netwarp.store.run_status import RunStatus

_POLL_S = 0.2
_FIRST_S = 0.1
"""The time after which a machine has started: where it shares a CPU with this process, other work would delay it."""


def execute(
    plan: Plan,
    engine: Engine,
    result: ResultWriter,
    *,
    jobs: int | None = None,
    fail_fast: bool = False,
    again: Collection[RunStatus] = (),
    live: bool = False,
    progress: Progress = lambda event, run, outcome: None,
    spare: Callable[[], None] = lambda: None,
) -> Execution:
    """Execute every run of `plan` that `result` does not have yet, `jobs` at once: by default one for each CPU, while
    another is prepared or concluded, but only one in real time, because runs disturb each other. Runs with a status of
    `again` are executed again, and replaced.

    The output of `live` runs' commands is seen here at once. `progress` gets the events of every run (`RunEvent`), that
    of its end from this thread. A KeyboardInterrupt ends the runs in flight, which leave nothing, keeps what
    is done, and returns with `interrupted`. `spare` is called at most once, in a thread, when a CPU has no more runs to
    make; not in real time. Raises StoreError, and EngineError where what runs are made with has
    changed since the plan was made.
    """
    execution = Execution()
    todo = list(missing_runs(plan, result, execution, again, progress))
    cancelled = threading.Event()

    virtual = engine.capabilities.clock == "virtual"
    each = max((run.scenario.run.cpus for run in todo), default=1)
    usual = max(1, len(processors()) // each) if virtual else 1
    at_once = len(todo) * each < len(processors())
    # If no number is given, one run more is prepared or concluded, so that the CPUs of the others never wait. With
    # `fail_fast` it is not, as it would begin while a run that failed is concluded.
    workers = jobs or usual + (virtual and not fail_fast)
    machines = threading.BoundedSemaphore(jobs or usual)

    @contextlib.contextmanager
    def claim(run: Run) -> Iterator[Sequence[int]]:
        with machines, claimed_processors(run.scenario.run.cpus) as cpus:
            if cancelled.is_set():
                raise Cancelled(run.id)
            if others := differing(engine, plan.identity):
                raise EngineError(changed(others))
            progress(RunEvent.START, run, None)
            yield cpus

    def work(run: Run) -> Outcome:
        if cancelled.is_set():
            raise Cancelled(run.id)
        outcome = execute_run(run, engine, result, partial(claim, run), cancelled, live=live, started=started)
        if fail_fast and outcome.status == RunStatus.FAILED:
            cancelled.set()  # here, before this thread takes the next run
        return outcome

    with _loaded_meanwhile(spare, at_once) as (started, idle), ThreadPoolExecutor(workers) as pool:
        pending = {pool.submit(work, run): run for run in todo}
        try:
            while pending:
                if virtual and len(pending) < len(processors()):
                    idle()
                _collect(pending, execution, progress)
                if fail_fast and execution.failed:
                    break
        except KeyboardInterrupt:
            execution.interrupted = True
        finally:
            cancelled.set()
            for future in pending:
                future.cancel()
    # Those that were being concluded meanwhile are done as well.
    for future in [future for future in pending if not future.cancelled()]:
        _take(future, pending, execution, progress)
    return execution


@contextlib.contextmanager
def _loaded_meanwhile(
    spare: Callable[[], None], at_once: bool
) -> Iterator[tuple[Callable[[], None], Callable[[], None]]]:
    """Load the modules that conclude runs while the first runs are executed, and call `spare` during the last ones; the
    two functions that it yields start these. `at_once`: there is a CPU for it beside those of the runs.

    Both happen in a separate thread, so that no signal interrupts an import: numpy cannot be loaded twice.
    """
    started, idle, over = threading.Event(), threading.Event(), threading.Event()

    def load() -> None:
        started.wait()
        if not over.wait(0 if at_once else _FIRST_S):
            import_module("netwarp.execute.conclusion").prepare()
        idle.wait()
        if not over.is_set():
            spare()

    loading = threading.Thread(target=load)
    loading.start()
    try:
        yield started.set, idle.set
    finally:
        for event in (over, started, idle):
            event.set()
        loading.join()


def _collect(pending: "dict[Future[Outcome], Run]", execution: Execution, progress: Progress) -> None:
    finished, _ = wait(pending, timeout=_POLL_S, return_when=FIRST_COMPLETED)
    for future in finished:
        _take(future, pending, execution, progress)


def _take(
    future: "Future[Outcome]", pending: "dict[Future[Outcome], Run]", execution: Execution, progress: Progress
) -> None:
    """Take the outcome of a run that has ended. Raises StoreError, EngineError."""
    run = pending.pop(future)
    try:
        outcome = future.result()
    except Cancelled:
        return  # another run failed, with fail_fast, or the user has interrupted all
    execution.done[run.id] = outcome
    progress(RunEvent.END, run, outcome)
