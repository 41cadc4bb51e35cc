"""The engine `uml`: one User Mode Linux in virtual time for each run, under the agent's guard."""

import resource
import shutil
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import cast

from netwarp.common.agent import AgentError, confinement_here, find_agent
from netwarp.common.platforms import wrong_processor
from netwarp.common.scratch import MEMORY, scratch
from netwarp.common.words import nearest
from netwarp.engines.base import (
    BY_DIGEST,
    Capabilities,
    EngineError,
    EngineOptions,
    EngineSpec,
    Job,
    MissingPartError,
    Outcome,
)
from netwarp.engines.confinement import readable, withheld
from netwarp.engines.deciders import deciders, interpreter, interpreter_here
from netwarp.engines.exec import keyboard, live_descriptors
from netwarp.engines.image import machine_bytes
from netwarp.engines.leavings import odd_files
from netwarp.engines.mappings import too_many_mappings
from netwarp.engines.memory import NoRoomError, find_memory_directory, reserved
from netwarp.engines.modules import FOLDER as MODULES
from netwarp.engines.modules import ModuleBuild, complaint, hand_over, hint, module_builds, module_problems, modules_of
from netwarp.engines.parts.labs import lab_of_part, seed_of_part, shared_memory
from netwarp.engines.parts.together import Machine, as_one, execute_together
from netwarp.engines.programs import (
    digest_of,
    digests_of,
    libraries_digest,
    program_digests,
    programs_here,
)
from netwarp.engines.reports import GuardReport
from netwarp.engines.supervisor import OUTCOME, end, end_in_words, start, wait
from netwarp.engines.tools import find_tools, tools_digest
from netwarp.engines.verdict import judged
from netwarp.kernels import Kernel, KernelDescription, KernelError, cache_directory, find_kernel, list_kernels
from netwarp.kernels.modules import compiler_paths
from netwarp.lab_format.model import LabParts
from netwarp.modules.named import in_gallery, names_modules, names_programs
from netwarp.plan import Plan
from netwarp.scenario.check.kernel_features import KernelFeature, kernel_features
from netwarp.scenario.model import RunOptions, Scenario
from netwarp.scenario.model.wire import is_device
from netwarp.scenario.points.identity import key_of_kernel
from netwarp.scenario.source import Keys
from netwarp.store.errors import StoreError
from netwarp.store.files import write_json
from netwarp.store.run_status import RunStatus
from netwarp.values.constants import SEARCH_PATH
from netwarp.values.json_values import Json

_FIX = "`netwarp kernel build` builds it again."
_KASAN = "CONFIG_KASAN=y"
PARTS = ".parts"
"""The directory, within a run's, of those of a divided network's machines."""
_WIRE = "netwarp_wire"
"""The driver of links that are devices."""


NAME = "uml"


@dataclass(frozen=True)
class UmlEngine:
    """A kernel, the agent, a directory for memory files, and additional paths that runs may `read`; see `Engine`."""

    kernel: Kernel
    agent: Path
    memory_dir: Path
    read: tuple[Path, ...] = ()

    capabilities = Capabilities(
        clock="virtual", deterministic=True, exact=True, captures=True, portable=True, modules=True, kernels=True
    )

    @property
    def spec(self) -> EngineSpec:
        """This engine with the kernel of this digest, and the paths that runs may read."""
        return EngineSpec(NAME, EngineOptions(BY_DIGEST + self.kernel.digest, self.read))

    @property
    def parts(self) -> Mapping[str, str]:
        """The agent's file and the kernel's directory."""
        return {"kernel": str(self.kernel.directory), "agent": str(self.agent)}

    @cached_property
    def facts(self) -> Mapping[str, Json]:
        """Version and drop reasons of the kernel, and the command that built it. Raises EngineError."""
        described = _described(self.kernel)
        return {
            "kernel": {
                "version": described.version,
                "drop_reasons": list(described.drop_reasons),
                "build": self.kernel.command,
            }
        }

    @cached_property
    def _has_shadow(self) -> bool:
        """Whether the kernel has KASAN, which reserves 16 TB of addresses."""
        return _KASAN in self.kernel.config.read_text().splitlines()

    @property
    def own_identity(self) -> Mapping[str, str]:
        """Digests of the kernel, the agent, the libraries of both, and netwarp's tools. Raises EngineError."""
        self.verify()
        return {
            "kernel": self.kernel.digest,
            "agent": digest_of(self.agent),
            "C library": libraries_digest(self.kernel.path, self.agent),
            "netwarp-tools": tools_digest(),
        }

    def verify(self) -> None:
        """Raise EngineError unless the kernel's binary is the one that was built; a changed file is read again."""
        try:
            found = digest_of(self.kernel.path)
        except OSError as error:
            raise EngineError(f"The kernel {self.kernel.path} cannot be read ({error.strerror}). {_FIX}") from error
        if found != self.kernel.digest:
            raise EngineError(
                f"The kernel {self.kernel.path} is not what was built; it was truncated or changed: its SHA-256 begins "
                f"{found[:12]}, not {self.kernel.digest[:12]}. {_FIX}"
            )

    def identity(self, scenario: Scenario) -> Mapping[str, str]:
        """Return the identity with the programs of this machine that run in the scenario's labs. Raises EngineError."""
        programs = {**program_digests(scenario), **_compiler(scenario), **_interpreter(scenario)}
        return {**self.own_identity, **_named_kernels(scenario), **programs}

    def identity_here(self, asked: Mapping[str, str]) -> Mapping[str, str]:
        """Return the identity with the programs that `asked` names. Raises EngineError."""
        return {**self.own_identity, **_kernels_here(asked), **programs_here(asked), **interpreter_here(asked)}

    def check_files(self, scenario: Scenario) -> Iterator[tuple[Keys, str]]:
        """Find files that Landlock would withhold from it, missing files, and those that are too large to digest."""
        return withheld(scenario, self.agent, self.read)

    def check(self, plan: Plan) -> Iterator[tuple[Keys, str]]:
        """Find congestion controls and queue disciplines that the kernel lacks. Raises EngineError."""
        described = _described(self.kernel)
        yield from module_problems(plan, self.kernel, described)
        modules = [module for _, module in modules_of(plan)]
        has = {
            "congestion control": (
                *described.congestion_controls,
                *(name for module in modules for name in module.congestion_controls),
            ),
            "queue discipline": (*described.qdiscs, *(name for module in modules for name in module.qdiscs)),
        }
        for keys, feature in _asked_of_the_kernel(plan):
            if feature.name not in (known := has[feature.kind]):
                yield (
                    keys,
                    f'the kernel {described.version} has no {feature.kind} "{feature.name}"'
                    f"{nearest(feature.name, known)}; it has {', '.join(known)}"
                    f"{in_gallery(feature.kind, feature.name)}",
                )
        if _WIRE not in {*described.modules, *(module.name for module in modules)}:
            for keys in _devices(plan):
                yield (
                    keys,
                    f'the kernel {described.version} has no devices for links ({_WIRE}). {_FIX} Or set wire = "netem"',
                )

    def builds(self, plan: Plan) -> Sequence[ModuleBuild]:
        """Compile the modules of the plan for this kernel; see `CompilesModules`. Raises EngineError."""
        return module_builds(plan, self.kernel)

    @property
    def warnings(self) -> Sequence[str]:
        """The confinement of a scenario's programs that this host cannot enforce. Raises EngineError."""
        try:
            return confinement_here(self.agent).lacks
        except AgentError as error:
            raise EngineError(str(error)) from error

    def run(self, job: Job, directory: Path, cpus: Sequence[int], cancelled: threading.Event) -> Outcome:
        """Run the machine to its end; see `Engine.run`."""
        try:
            self.verify()
            job = replace(job, memory_bytes=machine_bytes(self.kernel.path, job.memory_bytes))
        except EngineError as error:
            return Outcome(RunStatus.FAILED, str(error))
        if reason := too_many_mappings(job.lab):
            return Outcome(RunStatus.FAILED, reason, by_host=True)
        _raise_open_files()
        if missing := [str(path) for path in job.read if not path.exists()]:
            return Outcome(
                RunStatus.FAILED, f"it was to read {' and '.join(missing)}, which this machine does not have"
            )
        try:
            # Each machine has a directory for its memory file, because it may write to all files in it. If this process
            # is killed, the guard removes it.
            if (parts := job.lab.parts) is not None:
                with reserved(self.memory_dir, parts.count * (job.memory_bytes + parts.ring_bytes), cancelled):
                    return self._run_parts(job, parts, directory, cpus, cancelled)
            with reserved(self.memory_dir, job.memory_bytes, cancelled), scratch(MEMORY, self.memory_dir) as memory:
                return self._run(job, directory, memory, next(iter(cpus), None), cancelled)
        except NoRoomError as error:
            return Outcome(RunStatus.FAILED, str(error), by_host=True)

    def _run(self, job: Job, directory: Path, memory: Path, cpu: int | None, cancelled: threading.Event) -> Outcome:
        try:
            modules = hand_over(job.lab, self.kernel, directory)
        except (EngineError, KernelError) as error:
            return Outcome(RunStatus.FAILED, str(error))
        try:
            with live_descriptors(job.live) as live, keyboard(job) as keys, deciders(job, directory) as programs:
                command = self._command(job, directory, memory, cpu, {**live, **keys})
                command += [word for one in programs.descriptors for word in ("--program", str(one))]
                inherited = [int(value) for name, value in {**live, **keys}.items() if name != "pace"]
                inherited += programs.descriptors
                guard = start(command, inherited)
                try:
                    job.started()
                    report, said = wait(guard, job.time_limit_s, cancelled)
                finally:
                    end(guard)
                decided = programs.failure(directory)
        except EngineError as error:
            return Outcome(RunStatus.FAILED, str(error))
        finally:
            shutil.rmtree(directory / ".uml", ignore_errors=True)
            shutil.rmtree(directory / MODULES, ignore_errors=True)
            odd = odd_files(directory)
        said = said or end_in_words("guard", "the virtual machine", guard.returncode)
        if report is None:
            # Nothing that a machine does keeps a guard from its report: it was killed, or could not start one here.
            return Outcome(RunStatus.FAILED, said, by_host=True)
        blamed = decided or complaint(directory, modules, job.lab.t0_ns)
        advice = None if self._has_shadow else hint(directory, modules)
        return judged(job, directory, cast(GuardReport, report), odd, (blamed, advice))

    def _run_parts(
        self, job: Job, parts: LabParts, directory: Path, cpus: Sequence[int], cancelled: threading.Event
    ) -> Outcome:
        """Run a machine for each part of the network, and merge what they have recorded."""
        places = [directory / PARTS / str(part) for part in range(parts.count)]
        try:
            with ExitStack() as stack:
                shared = stack.enter_context(shared_memory(parts))
                machines = []
                for part, place in enumerate(places):
                    own = replace(job, lab=lab_of_part(job.lab, parts, part), seed=seed_of_part(job.seed, part))
                    place.mkdir(parents=True)
                    write_json(place / "run.json", {"lab": own.lab.as_json()})
                    memory = stack.enter_context(scratch(MEMORY, self.memory_dir))
                    cpu = cpus[part] if part < len(cpus) else None
                    command = self._command(own, place, memory, cpu, {"join": shared.argument(part)})
                    machines.append(Machine(command, [shared.descriptor], place))
                first, ended = execute_together(machines, job.time_limit_s, cancelled, job.started)
            odd = [name for place in places for name in odd_files(place)]
            report = as_one(ended, first)
            for place in places:
                shutil.rmtree(place / ".uml", ignore_errors=True)
            # Not earlier: it takes longer to load than a machine to start.
            from netwarp.engines.parts.records import merge

            merge(places, job.lab, directory)
            if report is None:
                return Outcome(RunStatus.FAILED, ended[first].said, by_host=True)
            if (outcome := ended[first].outcome) is not None:
                write_json(directory / OUTCOME, outcome)
            return judged(job, directory, report, odd, (None, None))
        except (OSError, StoreError) as error:
            return Outcome(RunStatus.FAILED, f"its parts cannot be run and merged: {error}", by_host=True)
        finally:
            shutil.rmtree(directory / PARTS, ignore_errors=True)

    def _command(
        self, job: Job, directory: Path, memory: Path, cpu: int | None, more: Mapping[str, int | float | str]
    ) -> list[str]:
        options: dict[str, object] = {
            "kernel": self.kernel.path,
            "dir": directory,
            "memory-dir": memory,
            "memory": job.memory_bytes,
            "seed": job.seed,
            "time-limit": job.time_limit_s,
            "t0": job.lab.t0_ns,
            "search-path": SEARCH_PATH,
            "tools": find_tools(),
            **more,
        }
        command = [str(self.agent), "guard"]
        command += [part for name, value in options.items() for part in (f"--{name}", str(value))]
        for path in readable(self.agent, job.folder, job.read):
            command += ["--read", str(path)]
        if cpu is not None:
            command += ["--cpu", str(cpu)]
        if self._has_shadow:
            command.append("--shadow")
        if job.lab.has_output:
            command += ["--output", "--kept-bytes", str(job.lab.record.kept_bytes)]
        if job.lab.record.exact:
            command.append("--exact")
        for capture in job.lab.record.captures:
            command += ["--capture", f"{capture.link}-{capture.node}"]
        return command


def _raise_open_files() -> None:
    """Raise the limit of open files of this process and the machines that it starts to its maximum: each file that a
    program of a lab has open takes one of the machine's. The program's own limit is the lab's (`open_files`)."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def find_uml_engine(options: EngineOptions) -> UmlEngine:
    """Find the engine on this machine. Raises EngineError saying what is missing, MissingPartError for its kernel."""
    if reason := wrong_processor():
        raise EngineError(reason)
    try:
        found, agent = _find_kernel(options.kernel), find_agent()
    except (KernelError, AgentError) as error:
        raise EngineError(str(error)) from error
    memory_root, problems = find_memory_directory()
    if memory_root is None:
        raise EngineError(
            f"There is no place for the virtual machine's memory file: {' '.join(problems)} See `netwarp doctor`."
        )
    find_tools()
    return UmlEngine(found, agent, memory_root, tuple(path.absolute() for path in options.read))


def _find_kernel(name: str | None) -> Kernel:
    """The kernel of that name; see `EngineOptions`."""
    if name is None or not name.startswith(BY_DIGEST):
        return find_kernel(name)
    digest, found = name.removeprefix(BY_DIGEST), list_kernels()
    for kernel in found:
        if kernel.digest == digest:
            return kernel
    there = ", ".join(f"{kernel.digest[:12]} ({kernel.version})" for kernel in found) or "none"
    raise MissingPartError(
        f"the kernel {digest[:12]} is not among its kernels ({there})", "kernel", f"{cache_directory()}/"
    )


def _named_kernels(scenario: Scenario) -> dict[str, str]:
    """Digests of the kernels that a scenario names. Raises EngineError saying how to build one that is not here."""
    try:
        return {key_of_kernel(name): find_kernel(name).digest for name in scenario.kernels}
    except KernelError as error:
        raise EngineError(str(error)) from error


def _kernels_here(asked: Mapping[str, str]) -> dict[str, str]:
    """Return the named kernels of an identity whose image is here, under any name."""
    here = {kernel.digest for kernel in list_kernels()}
    return {key: digest for key, digest in asked.items() if key.startswith(key_of_kernel("")) and digest in here}


def _described(kernel: Kernel) -> KernelDescription:
    try:
        return kernel.description
    except KernelError as error:
        raise EngineError(str(error)) from error


def _devices(plan: Plan) -> Iterator[Keys]:
    """The links that are devices at some point of the plan, as places of their `wire`, each once."""
    labs = [run.scenario for run in plan.points]
    names = {name: None for lab in labs for name in lab.links if is_device(lab, name, devices=True)}
    yield from (("links", name, "wire") for name in names)


def _compiler(scenario: Scenario) -> Mapping[str, str]:
    """Return the digests of the compiler's programs, if a scenario has modules. Raises EngineError."""
    try:
        return digests_of(compiler_paths()) if names_modules(scenario.source.data) else {}
    except KernelError as error:
        raise EngineError(str(error)) from error


def _interpreter(scenario: Scenario) -> Mapping[str, str]:
    """Return the identity of Python for programs beside their files, if a scenario names programs."""
    return interpreter() if names_programs(scenario.source.data) else {}


def _asked_of_the_kernel(plan: Plan) -> Iterator[tuple[Keys, KernelFeature]]:
    """Find the kernel features that the sections of a plan's scenarios need, without tuners that no run uses."""
    tuners = {section.tuner for _, section in plan.sections if isinstance(section, RunOptions)}
    for key, section in plan.sections:
        if key[0] != "tuners" or key[1] in tuners:
            yield from kernel_features(key, section)
