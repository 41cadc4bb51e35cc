"""Runs of a plan on this machine: as many at once as asked for, each on a CPU of its own."""

import threading
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from netwarp.engines import Engine, EngineError, Outcome, differing
from netwarp.execute.execution import Execution, Progress, missing_runs
from netwarp.execute.processors import claimed_processor, processors
from netwarp.execute.single import Cancelled, changed, execute_run
from netwarp.plan import Plan, Run
from netwarp.store.result import ResultDir

_POLL_S = 0.2


def execute(
    plan: Plan,
    engine: Engine,
    result: ResultDir,
    *,
    jobs: int | None = None,
    fail_fast: bool = False,
    retry_failed: bool = False,
    live: bool = False,
    progress: Progress = lambda event, run, outcome: None,
) -> Execution:
    """Make every run of `plan` that `result` does not have yet, `jobs` at once: by default one for each CPU, but in
    real time one alone, as runs disturb each other.

    What the commands of `live` runs print is seen here at once. `progress` hears ("start" | "end" | "kept", run,
    outcome), from this thread for "end". A KeyboardInterrupt ends the runs in flight, which leave nothing, keeps what
    is done, and returns with `interrupted`. Raises StoreError, and EngineError where what runs are made with has
    changed since the plan was made.
    """
    execution = Execution()
    todo = list(missing_runs(plan, result, execution, retry_failed, progress))
    cancelled = threading.Event()

    def work(run: Run) -> Outcome:
        with claimed_processor() as cpu:
            if cancelled.is_set():
                raise Cancelled(run.id)
            progress("start", run, None)
            if others := differing(engine, plan.identity):
                raise EngineError(changed(others))
            outcome = execute_run(run, engine, result, cpu, cancelled, live=live)
            if fail_fast and outcome.status == "failed":
                cancelled.set()  # here, before this thread takes the next run
            return outcome

    usual = len(processors()) if engine.capabilities.clock == "virtual" else 1
    with ThreadPoolExecutor(jobs or usual) as pool:
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
