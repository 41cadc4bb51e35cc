"""A run in the background whose congestion control is this process."""

from __future__ import annotations

import contextlib
import socket
import threading
from dataclasses import replace

from netwarp.common.scratch import RUNS, scratch
from netwarp.engines import Engine, EngineError, Outcome
from netwarp.execute.processors import claimed_processors
from netwarp.execute.single import job_of
from netwarp.plan import make_plan
from netwarp.policy import STATE_BYTES, Action, State, read_state, write_action
from netwarp.scenario.model import Scenario
from netwarp.store.files import write_json
from netwarp.store.run_status import RunStatus

PATIENT_S = 1e9
"""The time limit of a run, in seconds: its caller may think for as long as it likes."""


class BackgroundRun:
    """A run of a scenario with one seed. Its kernel asks by `states`, and waits for `answer`."""

    def __init__(self, scenario: Scenario, engine: Engine, seed: int) -> None:
        """Start it. Raises ScenarioError, EngineError."""
        self._run = make_plan(scenario, [seed]).runs[0]
        self._engine = engine
        self._ours, self._theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._cancelled = threading.Event()
        self._outcome: Outcome | Exception | None = None
        self._thread = threading.Thread(target=self._execute, daemon=True)
        self._thread.start()

    def next_state(self) -> State | None:
        """The next state that waits for an answer; None at the end of the run. Raises EngineError if it failed."""
        try:
            record = self._ours.recv(STATE_BYTES + 1)
        except ConnectionResetError:
            record = b""
        if record:
            return read_state(record)
        self._thread.join()
        match self._outcome:
            case EngineError() as error:
                raise error
            case Exception() as error:
                raise EngineError(f"The run (seed {self._run.seed}) failed: {error!r}") from error
            case None:
                raise EngineError(f"The run (seed {self._run.seed}) ended without an outcome")
            case outcome if outcome.status == RunStatus.FAILED:
                raise EngineError(f"The run (seed {self._run.seed}) failed: {outcome.reason}")
            case outcome if outcome.status == RunStatus.CANCELLED and not self._cancelled.is_set():
                raise EngineError(f"The run (seed {self._run.seed}) was cancelled, but not by its caller")
        return None

    def answer(self, state: State, action: Action) -> None:
        """Answer a state. Raises ValueError if the action is not one."""
        record = write_action(action, state.flow)
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # `next_state` says why
            self._ours.send(record)

    def close(self) -> None:
        """End the run; no process and no file of it remains."""
        self._cancelled.set()
        self._ours.close()
        self._thread.join()

    def _execute(self) -> None:
        try:
            with self._theirs, scratch(RUNS) as place, claimed_processors(1) as cpus:
                job = replace(job_of(self._run, self._engine), time_limit_s=PATIENT_S, caller=self._theirs.fileno())
                directory = place / "run"
                directory.mkdir()
                write_json(directory / "run.json", {"id": job.id, "seed": job.seed, "lab": job.lab.as_json()})
                self._outcome = self._engine.run(job, directory, cpus, self._cancelled)
        except Exception as error:  # `next_state` raises it: the thread has no other way to report a failure
            self._outcome = error
