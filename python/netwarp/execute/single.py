"""Execution of one run, from its plan to its place in the result directory: lab, engine, conclusion."""

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from netwarp.engines import Engine, Job, Outcome, identity_of, with_kernel_of
from netwarp.engines.base import unheard
from netwarp.lab import build_lab, memory_bytes, unchecked
from netwarp.plan import Run
from netwarp.scenario.model import Scenario
from netwarp.scenario.points.identity import with_kernel
from netwarp.store.files import write_json
from netwarp.store.making import ResultWriter
from netwarp.store.run_status import RunStatus
from netwarp.values.json_values import JsonObject
from netwarp.values.keep import EVERYTHING, Keep

Claim = Callable[[], AbstractContextManager[Sequence[int]]]
"""Waits for the CPUs on which an engine executes a run, and holds them for as long as that takes."""


class Cancelled(Exception):
    """The run was interrupted and has left nothing."""


@dataclass(frozen=True)
class RunSpec:
    """Everything that is needed to execute a run, here or on another machine: the engine's job, and run.json."""

    job: Job
    description: JsonObject
    identity: Mapping[str, str]
    keep: Keep = EVERYTHING

    @property
    def cpus(self) -> int:
        """The number of CPUs that it uses."""
        return self.job.lab.parts.count if self.job.lab.parts else 1


def execute_run(
    run: Run,
    engine: Engine,
    result: ResultWriter,
    claim: Claim,
    cancelled: threading.Event,
    *,
    live: bool = False,
    started: Callable[[], None] = unheard,
) -> Outcome:
    """Execute one run; a failed run has a directory as well, with the reason. Raises Cancelled, StoreError.

    The output of the command of a `live` run is printed here at once. `started`: see `Job`.
    """
    engine = with_kernel_of(engine, run.kernel)

    def check() -> None:
        if cancelled.is_set():
            raise Cancelled(run.id)

    spec = spec_of(run, engine, check)
    spec = replace(spec, job=replace(spec.job, live=live, started=started))
    with result.making(run.id) as directory:
        return execute_spec(spec, engine, directory, claim, cancelled)


def execute_spec(spec: RunSpec, engine: Engine, directory: Path, claim: Claim, cancelled: threading.Event) -> Outcome:
    """Execute the run in an empty directory. Raises Cancelled, StoreError."""
    write_json(directory / "run.json", spec.description)
    with claim() as cpus:
        outcome = engine.run(spec.job, directory, cpus, cancelled)
    if outcome.status == RunStatus.CANCELLED:
        raise Cancelled(spec.job.id)
    from netwarp.execute.conclusion import conclude  # not earlier: it takes longer to load than a machine to start

    return conclude(spec.job, spec.description, directory, outcome, spec.keep)


def record_failure(spec: RunSpec, result: ResultWriter, reason: str) -> Outcome:
    """Record the run as failed without executing it. Raises StoreError."""
    with result.making(spec.job.id) as directory:
        write_json(directory / "run.json", spec.description)
        from netwarp.execute.conclusion import conclude_unmade  # as above

        return conclude_unmade(directory, reason)


def changed(others: Sequence[str]) -> str:
    """Say why a run is not executed: these parts of its identity have changed since its id was computed."""
    return f"{' and '.join(others)} has changed since the study began."


def spec_of(run: Run, engine: Engine, check: Callable[[], None] = unchecked) -> RunSpec:
    """Return the spec of a run for this engine, whose kernel must be that of the run; `check` may end it early."""
    job = job_of(run, engine, check)
    identity = with_kernel(identity_of(engine, run.scenario), None)
    return RunSpec(job, _description(run, job, engine, identity), identity, run.scenario.record.keep)


def job_of(run: Run, engine: Engine, check: Callable[[], None] = unchecked) -> Job:
    """Return the engine's job of a run."""
    scenario = run.scenario
    limit_ns = scenario.run.time_limit
    limit_s = scenario.workload.limit_s if limit_ns is None else limit_ns / 1e9
    folder = scenario.source.folder.absolute()
    can = engine.capabilities
    lab = build_lab(run, exact=can.exact, real_time=can.clock == "real", check=check)
    return Job(run.id, run.seed, lab, memory_bytes(run), limit_s, folder, engine.spec.options.read)


def _description(run: Run, job: Job, engine: Engine, identity: Mapping[str, str]) -> JsonObject:
    return {
        "id": run.id,
        "seed": run.seed,
        "point": dict(run.point),
        "case": run.case,
        "scenario": {"name": run.scenario.name},
        "warmup_ns": run.scenario.workload.warmup_ns,
        "memory_bytes": job.memory_bytes,
        "engine": engine.spec.name,
        "kernel_name": run.scenario.kernel,
        "identity": identity,
        "given_sysctl": {
            node: sorted(given) for node in run.scenario.nodes if (given := run.scenario.given_sysctl(node))
        },
        **energy_of(run.scenario),
        **engine.facts,
        "lab": job.lab.as_json(),
    }


def energy_of(scenario: Scenario) -> JsonObject:
    """The models of energy that the scenario names, for the evaluation of the run; no engine gets them."""
    links = {name: asdict(link.energy) for name, link in scenario.links.items() if link.energy is not None}
    nodes = {name: asdict(node.energy) for name, node in scenario.nodes.items() if node.energy is not None}
    return {"energy": {"links": links, "nodes": nodes}} if links or nodes else {}
