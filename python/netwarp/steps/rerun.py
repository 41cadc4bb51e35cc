"""Repeats the runs of an existing result and compares them byte by byte."""

import contextlib
import shlex
import shutil
import sys
import threading
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console

from netwarp.common.scratch import RUNS, scratch
from netwarp.common.terminal import Terminal
from netwarp.engines import Engine, EngineError, Outcome, identity_of, refuse_unsupported, refuse_withheld
from netwarp.execute import execute
from netwarp.execute.execution import RunEvent
from netwarp.execute.manifest import installed_version, manifest, plan_json
from netwarp.execute.progress import RunProgress
from netwarp.kernels import list_kernels
from netwarp.plan import Plan, Run, make_plan
from netwarp.scenario import Scenario, ScenarioError
from netwarp.scenario.model.wire import is_device
from netwarp.steps.evaluation import scenario_of, summarise
from netwarp.steps.study import keep_files, named_files, note_warnings
from netwarp.store.digests import Difference, compare_digests
from netwarp.store.documents import KernelDocument
from netwarp.store.errors import SelectionError, StoreError
from netwarp.store.keep import digests_as_made
from netwarp.store.planfile import IMPORTED, place_of
from netwarp.store.result import ResultDir, create_result, open_result
from netwarp.values.json_values import JsonObject


@dataclass(frozen=True)
class Repeated:
    """A repeated run: its label, and the files that differ from the old ones (empty: identical)."""

    id: str
    label: str
    differences: tuple[Difference, ...]


@dataclass(frozen=True)
class Rerun:
    """The result of a rerun: runs in the plan's order, and the parts of kernel, agent or tools that have changed."""

    runs: tuple[Repeated, ...]
    changed: tuple[str, ...]
    interrupted: bool
    made_by: tuple[str, ...] = ()
    """The versions that made the old result, and the commands that restore them; empty if they made the new one too."""

    @property
    def identical(self) -> bool:
        """Whether every run is identical to the byte."""
        return not self.interrupted and not any(run.differences for run in self.runs)


def rerun(
    directory: Path,
    engine: Engine,
    *,
    jobs: int | None = None,
    keep: Path | None = None,
    console: Console | None = None,
) -> Rerun:
    """Repeat every run of the result at `directory` and compare the digests of all files.

    The new runs are deleted as soon as they are compared, unless `keep` names a directory for them. Runs are matched by
    their point and seed, so that a result of another kernel can be compared too. Raises StoreError (also if there is
    nothing to repeat), ScenarioError.
    """
    console = console or Terminal(stderr=True)
    if not engine.capabilities.deterministic:
        raise EngineError(
            f'the engine "{engine.spec.name}" does not give the same bytes twice; compare results instead'
        )
    old = open_result(directory)
    made = {place_of(entry): str(entry["id"]) for entry in old.plan["runs"] if old.is_complete(str(entry["id"]))}
    plan = _plan(old, engine, made)
    note_warnings(engine, console)
    repeated: dict[str, Repeated] = {}
    with _directory(keep) as target, _result(target, plan, engine) as new:
        compare = _RecordsComparison(old, new, made, keep is None, repeated)
        with RunProgress(plan, console) as progress:

            def hear(event: RunEvent, run: Run, outcome: Outcome | None) -> None:
                progress(event, run, outcome)
                if event in ("end", "kept"):
                    compare(run)

            execution = execute(plan, engine, new, jobs=jobs, progress=hear)
        if keep is not None:
            summarise(new)
        changed = _changed(old.plan.get("identity", {}), plan.identity)
        return Rerun(
            runs=tuple(repeated[run.id] for run in plan if run.id in repeated),
            changed=changed,
            interrupted=execution.interrupted,
            made_by=tuple(_made_by(old, changed)),
        )


@dataclass(frozen=True)
class _RecordsComparison:
    old: ResultDir
    new: ResultDir
    made: Mapping[str, str]
    discard: bool
    repeated: dict[str, Repeated]

    def __call__(self, run: Run) -> None:
        before, after = self.old.run(self.made[_place(run)]).path, self.new.run(run.id).path
        differences = tuple(compare_digests(digests_as_made(before), digests_as_made(after)))
        self.repeated[run.id] = Repeated(before.name, run.label, differences)
        if self.discard:
            # In another thread than the one that waits for the next run.
            threading.Thread(target=shutil.rmtree, args=(after,), kwargs={"ignore_errors": True}).start()


def _plan(old: ResultDir, engine: Engine, made: Mapping[str, str]) -> Plan:
    """The old plan as this version of netwarp makes it, with the existing runs."""
    if old.plan.get("engine") == IMPORTED:
        raise SelectionError(f"{old.path} was imported, not run: netwarp cannot repeat its measurements")
    asked = old.plan.get("asked")
    if asked is None:
        raise StoreError(f"plan.json of {old.path} lacks the requested runs; an older version of netwarp wrote it")
    scenario = _scenario(old)
    if scenario.workload.takes_host_time:
        raise SelectionError(
            f"{old.path} cannot be repeated, since its programs' computing took the host's time (compute_time)"
        )
    refuse_withheld(scenario, engine)
    try:
        identity = identity_of(engine, scenario)
    except EngineError as error:
        raise EngineError(f"{error}{_kernels_of(old)}") from error
    plan = make_plan(scenario, asked["seeds"], asked["cases"], identity)
    refuse_unsupported(plan, engine)
    runs = tuple(run for run in plan if _place(run) in made)
    if not runs:
        raise StoreError(f"{old.path} has no finished run that could be repeated")
    return replace(plan, runs=runs)


def _scenario(old: ResultDir) -> Scenario:
    """The scenario of a result, with its wires. Raises SelectionError with the version that reads it, if this one does
    not."""
    try:
        scenario = scenario_of(old)
        wires = _wires(old, scenario)
        return scenario_of(old, wires) if wires else scenario
    except ScenarioError as error:
        version = old.manifest.get("netwarp") or ""
        if version in ("", installed_version()):
            raise
        raise SelectionError(f"{error}\n{_of_version(old, version)}") from None


def _wires(old: ResultDir, scenario: Scenario) -> list[str]:
    """Settings for links that were netem's before links became devices by default."""
    made = next((run.id for run in old.planned if old.is_complete(run.id)), None)
    if made is None or old.plan.get("engine") == IMPORTED:
        return []
    of_netem = {link.name for link in old.run(made).lab.links if not link.device}
    varied = {*scenario.sweep, *(path for case in scenario.cases for path in case.set)}
    return [
        f"links.{name}.wire=netem"
        for name in scenario.links
        if name in of_netem and is_device(scenario, name, devices=True) and f"links.{name}.wire" not in varied
    ]


def _of_version(old: ResultDir, version: str) -> str:
    return (
        f"{old.path} was made by netwarp {version}, and this is {installed_version()}. In another environment, "
        f"`pip install netwarp=={version}` brings that version with its kernel and tools."
    )


def _made_by(old: ResultDir, changed: Collection[str]) -> Iterator[str]:
    """Say which netwarp, kernel and tools made a result, if these parts have changed since, and how to get them."""
    version, now = old.manifest.get("netwarp") or "", installed_version()
    if version and version != now and changed:
        yield _of_version(old, version)
    digest = old.plan.get("identity", {}).get("kernel", "")
    if "kernel" in changed and digest:
        yield _other_kernel(old, digest, version)
    if "netwarp-tools" in changed and version == now:
        yield (
            "Its programs in labs (tc, iperf3, tcpdump) were others than those of the installed netwarp-tools: "
            f"`pip install --force-reinstall netwarp-tools=={version}` brings those of the release."
        )


def _other_kernel(old: ResultDir, digest: str, version: str) -> str:
    """Say which kernel made the result, and how to run on it again."""
    made = next((run for run in old.planned if old.is_complete(run.id)), None)
    said = old.run(made.id).document.kernel if made else KernelDocument()
    name = f"Its kernel is {f'Linux {said.version} ' if said.version else ''}(SHA-256 {digest[:12]})"
    here = next((kernel for kernel in list_kernels() if kernel.digest == digest), None)
    if here is not None:
        return f"{name}, which is here: `netwarp rerun {shlex.quote(str(old.path))} --kernel {here.key}` runs on it."
    built = f"`{said.build}` of netwarp {version or 'the same version'}" if said.build else "its netwarp"
    return f"{name}, which is not here: {built} built it, from the same source and with the same compiler."


def _kernels_of(old: ResultDir) -> str:
    """The commands that built the named kernels of a result, in words; empty if it names none."""
    commands: dict[str, str] = {}
    for run in (old.run(one.id) for one in old.planned if old.is_complete(one.id)):
        said = run.document
        if (name := said.kernel_name) and said.kernel.build:
            digest = said.identity.get("kernel", "")
            again = said.kernel.build.replace("kernel build", f"kernel build --name {name}", 1)
            commands[name] = f"{name} (SHA-256 {digest[:12]}), which `{again}` built"
    return f" {old.path} was made with {', and '.join(commands.values())}." if commands else ""


def _place(run: Run) -> str:
    return place_of({"id": run.id, "seed": run.seed, "case": run.case, "point": dict(run.point)})


def _changed(before: JsonObject, now: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(key for key in sorted({*before, *now}) if before.get(key) != now.get(key))


@contextlib.contextmanager
def _directory(keep: Path | None) -> Iterator[Path]:
    if keep is not None:
        yield keep
        return
    with scratch(RUNS) as directory:
        yield directory


@contextlib.contextmanager
def _result(directory: Path, plan: Plan, engine: Engine) -> Iterator[ResultDir]:
    text = plan.scenario.source.text
    content = plan_json(plan, engine.spec.name)
    made = manifest(engine.spec.name, engine.own_identity, sys.argv)
    files = named_files(plan.scenario)
    with create_result(directory, scenario_toml=text, plan=content, manifest=made) as result:
        keep_files(files, result)
        yield result
