"""One run from its plan to its place in the result directory: lab, engine, digests, metrics, status."""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from netwarp.analysis.run.faults import FaultError, contained
from netwarp.analysis.run.run_metrics import compute_metrics
from netwarp.analysis.run.validity import check_run
from netwarp.discovery import discover, session_flows, with_connections
from netwarp.engines import Engine, Job, Outcome, identity_of, with_kernel_of
from netwarp.lab import build_lab, memory_bytes
from netwarp.plan import Run
from netwarp.scenario.model.exec import ExecScenario
from netwarp.scenario.model.run import MAX_RUN_NS
from netwarp.scenario.points.identity import with_kernel
from netwarp.store.digests import write_digests
from netwarp.store.errors import StoreError
from netwarp.store.files import write_json
from netwarp.store.result import ResultDir
from netwarp.store.rundir import RunDir

_LIMIT_BASE_S = 120.0
_LIMIT_PER_S = 2.0
_EXEC_LIMIT_S = 600.0
"""Of a command, whose duration nobody knows before."""


class Cancelled(Exception):
    """The run was interrupted and has left nothing."""


@dataclass(frozen=True)
class RunSpec:
    """All that it takes to make a run, here or on another machine: what the engine gets, and what run.json says."""

    job: Job
    description: Mapping[str, Any]


def execute_run(
    run: Run, engine: Engine, result: ResultDir, cpu: int | None, cancelled: threading.Event, *, live: bool = False
) -> Outcome:
    """Make one run; a failed one has its directory as well, with the reason. Raises Cancelled, StoreError.

    What the command of a `live` one prints is seen here at once.
    """
    engine = with_kernel_of(engine, run.kernel)
    spec = spec_of(run, engine)
    spec = replace(spec, job=replace(spec.job, live=live))
    with result.making(run.id) as directory:
        return execute_spec(spec, engine, directory, cpu, cancelled)


def execute_spec(
    spec: RunSpec, engine: Engine, directory: Path, cpu: int | None, cancelled: threading.Event
) -> Outcome:
    """Make the run in an empty directory. Raises Cancelled, StoreError."""
    write_json(directory / "run.json", spec.description)
    outcome = engine.run(spec.job, directory, cpu, cancelled)
    if outcome.status == "cancelled":
        raise Cancelled(spec.job.id)
    found = {**outcome.found, **_network(spec, directory, outcome.found)}
    if found:
        write_json(directory / "run.json", {**spec.description, "lab": {**spec.job.lab, **found}})
    write_digests(directory)
    if outcome.status == "ok":
        outcome = _analysed(directory, outcome)
    RunDir(directory).write_status(outcome.status, outcome.reason, **outcome.facts)
    return outcome


def record_failure(spec: RunSpec, result: ResultDir, reason: str) -> Outcome:
    """File the run as failed, without having made it. Raises StoreError."""
    with result.making(spec.job.id) as directory:
        write_json(directory / "run.json", spec.description)
        write_digests(directory)
        RunDir(directory).write_status("failed", reason)
    return Outcome("failed", reason)


def changed(others: Sequence[str]) -> str:
    """Why a run is not made with what is another now than when its study was begun, and its id computed."""
    return f"{' and '.join(others)} has changed since the study began."


def spec_of(run: Run, engine: Engine) -> RunSpec:
    """All that it takes to make a run with this engine, whose kernel is that of the run."""
    job = job_of(run, engine)
    return RunSpec(job, _description(run, job, engine))


def job_of(run: Run, engine: Engine) -> Job:
    """What the engine gets of a run."""
    scenario = run.scenario
    limit_ns = scenario.run.time_limit
    usual_s = _EXEC_LIMIT_S
    if isinstance(scenario, ExecScenario) and scenario.exec.terminal:
        usual_s = MAX_RUN_NS / 1e9
    elif not isinstance(scenario, ExecScenario):
        usual_s = _LIMIT_BASE_S + _LIMIT_PER_S * scenario.duration / 1e9
    limit_s = usual_s if limit_ns is None else limit_ns / 1e9
    folder = scenario.source.folder.absolute()
    can = engine.capabilities
    lab = build_lab(run, exact=can.exact, real_time=can.clock == "real")
    return Job(run.id, run.seed, dict(lab), memory_bytes(run), limit_s, folder, engine.spec.options.read)


def _description(run: Run, job: Job, engine: Engine) -> dict[str, Any]:
    return {
        "id": run.id,
        "seed": run.seed,
        "point": dict(run.point),
        "case": run.case,
        "scenario": {"name": run.scenario.name},
        "warmup_ns": 0 if job.lab["exec"] else run.scenario.warmup,
        "memory_bytes": job.memory_bytes,
        "engine": engine.spec.name,
        "kernel_name": run.scenario.kernel,
        "identity": with_kernel(identity_of(engine, run.scenario), None),
        "given_sysctl": {
            node: sorted(given) for node in run.scenario.nodes if (given := run.scenario.given_sysctl(node))
        },
        **engine.facts,
        "lab": job.lab,
    }


def _network(spec: RunSpec, directory: Path, found: Mapping[str, Any]) -> dict[str, Any]:
    """The part of the network that only the records show: all of it, or what its commands sent. Raises StoreError."""
    command = spec.job.lab["exec"]
    if command and spec.job.lab["nodes"]:
        return {"flows": session_flows(RunDir(directory), spec.job.lab, found.get("duration_ns", 0))}
    if command:
        return discover(RunDir(directory), command["rate_bps"])
    flows = with_connections(RunDir(directory), spec.job.lab)
    return {} if flows is None else {"flows": flows}


def _analysed(directory: Path, outcome: Outcome) -> Outcome:
    """The outcome with what the records say of it; their metrics written."""
    try:
        with contained(directory, StoreError):
            verdict = check_run(directory)
            if verdict.status != "failed":
                compute_metrics(RunDir(directory))
    except (StoreError, FaultError) as error:
        return Outcome("failed", str(error), outcome.facts)
    return Outcome(verdict.status, verdict.reason, outcome.facts)
