"""Execution of a plan on many machines, through a Dask scheduler, with the same bytes as here.

Dask moves the runs and their results, and gives a run whose worker died to another worker. netwarp adds two things: a
worker gets runs only if its identity is the same as here, and only as many runs are under way as the workers have
places for.
"""

import contextlib
import queue
import re
import signal
import threading
import time
import uuid
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any

from distributed import Client, Future, KilledWorker

from netwarp.engines import Engine, EngineError, Outcome, with_kernel_of
from netwarp.execute.execution import Execution, Progress, RunEvent, missing_runs
from netwarp.execute.single import RunSpec, record_failure, spec_of
from netwarp.execute.worker import DamagedError, RemoteResult, make_run, unpack
from netwarp.execute.worker_pool import WorkerPool
from netwarp.plan import Plan, Run
from netwarp.store.digests import compare_digests, read_digests
from netwarp.store.keep import digests_as_made
from netwarp.store.making import ResultWriter
from netwarp.store.run_status import RunStatus

_AHEAD = 2
"""Runs under way for each place: one is executed, and one is on its way."""
_CONNECT_S = 15
_POLL_S = 0.5
_LOOK_S = 3.0


@dataclass(frozen=True)
class _Sent:
    run: Run
    spec: RunSpec
    workers: tuple[str, ...]


def execute_on_cluster(
    plan: Plan,
    engine: Engine,
    result: ResultWriter,
    address: str,
    *,
    fail_fast: bool = False,
    again: Collection[RunStatus] = (),
    progress: Progress = lambda event, run, outcome: None,
    report: Callable[[str], None] = lambda text: None,
) -> Execution:
    """Execute every run of `plan` that `result` does not have yet, on the workers of the Dask scheduler at `address`.

    A worker whose kernel, agent, tools or netwarp differ from those here is named through `report`, and not used.
    Raises EngineError if no worker can be used at the beginning; if all workers go away later, the study waits for
    others. Otherwise as `execute`.
    """
    if not re.fullmatch(r"(tcp|tls|ws|wss|ucx)://\S+:\d+", address):
        raise EngineError(f'"{address}" is not the address of a Dask scheduler; write one such as tcp://host:8786')
    if not engine.capabilities.portable:
        raise EngineError(
            f'runs of the engine "{engine.spec.name}" are executed on this machine only; leave --dask out'
        )
    try:
        client = Client(address, timeout=_CONNECT_S, set_as_default=False, direct_to_workers=True)
    except OSError as error:
        raise EngineError(f"There is no Dask scheduler at {address}: {error}") from error
    with client:
        pool = WorkerPool(client, engine, plan.identity, report)
        return _Study(pool, result, progress).make(plan, fail_fast, again)


class _Study:
    """The runs of one plan on the workers of one scheduler."""

    def __init__(self, pool: WorkerPool, result: ResultWriter, progress: Progress) -> None:
        self.pool, self.client, self.engine = pool, pool.client, pool.engine
        self.result, self.progress = result, progress
        self.id = f"netwarp-{uuid.uuid4().hex[:8]}"
        self.execution = Execution()
        self.under_way: dict[Future[Any], _Sent] = {}
        self.finished: queue.SimpleQueue[Future[Any]] = queue.SimpleQueue()

    def make(self, plan: Plan, fail_fast: bool, again: Collection[RunStatus]) -> Execution:
        self.pool.refresh()
        if not self.pool.fit:
            raise EngineError(_no_worker(self.pool))
        todo = missing_runs(plan, self.result, self.execution, again, self.progress)
        try:
            with _interruptions() as interrupted:
                self._all(todo, fail_fast, interrupted)
            self.execution.interrupted = interrupted.is_set()
        except KeyboardInterrupt:
            self.execution.interrupted = True
        finally:
            if self.under_way:
                self.pool.cancel(self.id)
                self.client.cancel(list(self.under_way), force=True)
        return self.execution

    def _all(self, todo: Iterator[Run], fail_fast: bool, interrupted: threading.Event) -> None:
        looked = time.monotonic()
        more = True
        while (more or self.under_way) and not interrupted.is_set():
            more = more and self._send(todo)
            if not self.under_way:
                break
            self._receive()
            if fail_fast and self.execution.failed:
                return
            if time.monotonic() - looked > _LOOK_S:
                self._look()
                looked = time.monotonic()

    def _send(self, todo: Iterator[Run]) -> bool:
        """Fill the workers' places; return whether there is more to send."""
        while len(self.under_way) < max(1, _AHEAD * self.pool.places):
            run = next(todo, None)
            if run is None:
                return False
            self._submit(run, spec_of(run, with_kernel_of(self.engine, run.kernel)))
            self.progress(RunEvent.START, run, None)
        return True

    def _submit(self, run: Run, spec: RunSpec) -> None:
        workers = tuple(self.pool.fit)
        future = self.client.submit(
            make_run,
            spec,
            with_kernel_of(self.engine, run.kernel).spec,
            self.id,
            key=f"{self.id}-{run.id}-{uuid.uuid4().hex[:8]}",
            workers=list(workers),
            allow_other_workers=False,
            pure=False,
        )
        self.under_way[future] = _Sent(run, spec, workers)
        future.add_done_callback(self.finished.put)

    def _receive(self) -> None:
        try:
            future = self.finished.get(timeout=_POLL_S)
        except queue.Empty:
            return
        sent = self.under_way.pop(future, None)
        if sent is None:
            return  # it has been sent to other workers meanwhile
        outcome = self._outcome(future, sent)
        if outcome is None:  # it was lost on the way, and is executed again
            self._submit(sent.run, sent.spec)
            return
        self.execution.done[sent.run.id] = outcome
        self.progress(RunEvent.END, sent.run, outcome)

    def _outcome(self, future: Future[Any], sent: _Sent) -> Outcome | None:
        if future.status == "cancelled":
            return None
        error = future.exception()
        if isinstance(error, KilledWorker):
            return record_failure(
                sent.spec, self.result, f"each worker that began it died ({error}); see the workers' logs"
            )
        if error is not None:
            return record_failure(
                sent.spec, self.result, f"its worker could not execute it: {type(error).__name__}: {error}"
            )
        made: RemoteResult = future.result()
        if made.outcome is None:
            return None
        try:
            with self.result.making(sent.run.id) as directory:
                unpack(made.files, directory)
                if compare_digests(read_digests(directory), digests_as_made(directory)):
                    raise DamagedError("the digests of its files are not those that its worker computed")
        except DamagedError as error:
            return record_failure(sent.spec, self.result, f"it came back damaged: {error}")
        return made.outcome

    def _look(self) -> None:
        """Update the workers; send runs that wait for workers which are gone to those that are there."""
        before = len(self.pool.fit)
        self.pool.refresh()
        if not self.pool.fit:
            if before:
                self.pool.report("every worker has gone; waiting for others (Ctrl-C ends; what is done is kept)")
            return
        stranded = [
            f for f, sent in self.under_way.items() if not f.done() and not set(sent.workers) & set(self.pool.fit)
        ]
        for future in stranded:
            sent = self.under_way.pop(future)
            self._submit(sent.run, sent.spec)
            self.client.cancel([future], force=True)


@contextlib.contextmanager
def _interruptions() -> Iterator[threading.Event]:
    """Yield an event that SIGINT, SIGTERM and SIGHUP set. An exception would be lost if the signal came during a
    destructor, and Dask's futures have destructors."""
    heard = threading.Event()
    before: dict[int, Any] = {}

    def hear(number: int, frame: FrameType | None) -> None:
        heard.set()
        with contextlib.suppress(KeyboardInterrupt):
            # The command line's handler stops writing to a terminal that is gone.
            before[number](number, frame)

    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if callable(handler := signal.getsignal(number)):  # otherwise the caller has the signal ignored
                before[number] = handler
                signal.signal(number, hear)
    try:
        yield heard
    finally:
        for known, handler in before.items():
            if signal.getsignal(known) is hear:  # otherwise the handler that was called has replaced it
                signal.signal(known, handler)


def _no_worker(pool: WorkerPool) -> str:
    if not pool.unfit:
        return "The Dask scheduler has no worker: start some with `dask worker ADDRESS --nthreads 1`."
    return "No worker of the Dask scheduler can execute these runs; see above what each one lacks."
