"""The engine `host`: each run in separate namespaces, under the agent's supervisor."""

import os
import platform
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import cast

from netwarp.common.agent import AgentError, confinement_here, find_agent
from netwarp.common.platforms import processor
from netwarp.engines.base import Capabilities, EngineError, EngineOptions, EngineSpec, Job, Outcome
from netwarp.engines.confinement import readable, withheld
from netwarp.engines.host.needs import impairments, of_own_kernel, sysctls, used_sections
from netwarp.engines.host.probe import Refused, probe
from netwarp.engines.host.rapl import counters, spent_j
from netwarp.engines.leavings import odd_files
from netwarp.engines.programs import (
    digest_of,
    libraries_digest,
    program_digests,
    programs_here,
)
from netwarp.engines.reports import End, RunFacts, SupervisorReport
from netwarp.engines.supervisor import console_tail, end, end_in_words, read_outcome, start, wait
from netwarp.engines.tools import find_tools, tools_digest
from netwarp.lab_format.wires import PROPERTIES
from netwarp.plan import Plan
from netwarp.scenario.check.kernel_features import kernel_features
from netwarp.scenario.model import Scenario
from netwarp.scenario.source import Keys
from netwarp.store.run_status import RunStatus
from netwarp.values.constants import SEARCH_PATH
from netwarp.values.json_values import Json

NAME = "host"
_NAMED = 5
"""The maximum number of odd files that a reason names."""
_NETEM = "netem"
_AS_ROOT = (
    "this host allows no user namespaces, so a scenario's programs are root on this machine (SECURITY.md): run only "
    "scenarios that you trust"
)
_MODULES = "sch_"
"""The prefix of the names of queue disciplines' modules."""


@dataclass(frozen=True)
class HostEngine:
    """This machine's kernel, the agent, and the paths that runs may `read`; see `Engine`."""

    agent: Path
    read: tuple[Path, ...] = ()

    capabilities = Capabilities(clock="real", deterministic=False, exact=False, captures=True, portable=False)

    @property
    def spec(self) -> EngineSpec:
        """This engine, and the paths that runs may read."""
        return EngineSpec(NAME, EngineOptions(read=self.read))

    @property
    def parts(self) -> Mapping[str, str]:
        """Nothing: the kernel is the machine's and cannot be copied."""
        return {}

    @cached_property
    def facts(self) -> Mapping[str, Json]:
        """The kernel's version, and that the clock is real, so that no run can be repeated to the byte."""
        return {"kernel": {"version": platform.release(), "drop_reasons": []}, "clock": "real", "reproducible": False}

    @property
    def own_identity(self) -> Mapping[str, str]:
        """The kernel by its version and build, the processors, the agent with its libraries, and netwarp's tools.

        Raises EngineError.
        """
        return {
            "kernel": f"{platform.system()} {platform.release()} {platform.version()} {platform.machine()}",
            "processors": f"{os.cpu_count()} × {processor()}",
            "agent": digest_of(self.agent),
            "C library": libraries_digest(self.agent),
            "netwarp-tools": tools_digest(),
        }

    def identity(self, scenario: Scenario) -> Mapping[str, str]:
        """Return the identity with the programs of this machine that run in the scenario's labs. Raises EngineError."""
        return {**self.own_identity, **program_digests(scenario)}

    def identity_here(self, asked: Mapping[str, str]) -> Mapping[str, str]:
        """Return the identity with the programs that `asked` names. Raises EngineError."""
        return {**self.own_identity, **programs_here(asked)}

    def check_files(self, scenario: Scenario) -> Iterator[tuple[Keys, str]]:
        """Find files that do not exist, that are too large to digest, or that the user has not allowed."""
        return withheld(scenario, self.agent, self.read)

    def check(self, plan: Plan) -> Iterator[tuple[Keys, str]]:
        """Find features that the plan needs and the kernel refuses when they are tried. Raises EngineError."""
        sections = list(used_sections(plan))
        features = [found for key, section in sections for found in kernel_features(key, section)]
        impaired = [found for key, section in sections for found in impairments(key, section)]
        settings = [found for key, section in sections for found in sysctls(key, section)]
        qdiscs = [feature.name for _, feature in features if feature.kind == "queue discipline"]
        refused = probe(
            self.agent,
            [*qdiscs, *([_NETEM] if impaired else [])],
            [feature.name for _, feature in features if feature.kind == "congestion control"],
            [setting for _, setting in settings],
        )
        yield from _interfaces(refused)
        yield from _impaired(refused, impaired)
        for keys, feature in features:
            lacks = refused.qdiscs if feature.kind == "queue discipline" else refused.congestion_controls
            if feature.name in lacks:
                yield keys, _lacks(feature.kind, feature.name, refused)
        for keys, (name, _) in settings:
            if name in refused.sysctls:
                yield keys, f"{refused.sysctls[name]}; a network namespace does not have every sysctl"
        for key, section in sections:
            yield from of_own_kernel(key, section)

    @property
    def warnings(self) -> Sequence[str]:
        """Sentences for the user who runs it on this machine. Raises EngineError."""
        try:
            found = list(confinement_here(self.agent).lacks_in_real_time)
        except AgentError as error:
            raise EngineError(str(error)) from error
        if probe(self.agent).privilege == "root":
            found.append(_AS_ROOT)
        return found

    def run(self, job: Job, directory: Path, cpus: Sequence[int], cancelled: threading.Event) -> Outcome:
        """Run the lab to its end; see `Engine.run`. The lab has all processors, as nodes of a real network would."""
        if missing := [str(path) for path in job.read if not path.exists()]:
            return Outcome(
                RunStatus.FAILED, f"it was to read {' and '.join(missing)}, which this machine does not have"
            )
        before = counters()
        supervisor = start(self._command(job, directory))
        try:
            report, complaint = wait(supervisor, job.time_limit_s, cancelled)
        finally:
            end(supervisor)
            odd = odd_files(directory)
            package_j = spent_j(before, counters())
        said = complaint or end_in_words("supervisor", "the run", supervisor.returncode)
        outcome = _judge(job, directory, cast(SupervisorReport | None, report), said, odd)
        return replace(outcome, facts={**outcome.facts, "package_j": package_j}) if package_j else outcome

    def _command(self, job: Job, directory: Path) -> list[str]:
        options: dict[str, object] = {
            "dir": directory.absolute(),
            "run": job.id,
            "client": os.getpid(),
            "time-limit": job.time_limit_s,
            "search-path": SEARCH_PATH,
            "tools": find_tools(),
        }
        words = [part for name, value in options.items() for part in (f"--{name}", str(value))]
        read = [part for path in readable(self.agent, job.folder, job.read) for part in ("--read", str(path))]
        return [str(self.agent), "host", *words, *read]


def find_host_engine(options: EngineOptions) -> HostEngine:
    """The engine of this machine. Raises EngineError saying what is missing."""
    if options.kernel is not None:
        raise EngineError("The engine host runs labs in this machine's own kernel: --kernel is for the engine uml.")
    try:
        agent = find_agent()
    except AgentError as error:
        raise EngineError(str(error)) from error
    find_tools()
    return HostEngine(agent, tuple(path.absolute() for path in options.read))


def _interfaces(refused: Refused) -> Iterator[tuple[Keys, str]]:
    for kind, reason in refused.interfaces.items():
        yield (
            ("links",),
            f"this kernel ({platform.release()}) cannot create {kind} interfaces (module {kind}): {reason}",
        )


def _impaired(refused: Refused, found: Sequence[tuple[Keys, str]]) -> Iterator[tuple[Keys, str]]:
    """Find settings that need netem; if only delay is missing, say which setting makes the plan run without it."""
    if _NETEM not in refused.qdiscs:
        return
    lack = f"this kernel ({platform.release()}) has no netem (module sch_netem)"
    only_delay = {what for _, what in found} <= {one.name for one in PROPERTIES if one.only_delays}
    for keys, what in found:
        if only_delay and what == "delay" and len(keys) == len(("links", "NAME", "delay")):
            path = ".".join(map(str, keys))
            yield keys, f"{lack}, so links have no delay; the rest runs here without: --set '{path}=\"0ms\"'"
        else:
            yield keys, f"{lack}, so links have no {what}; the engine uml has netem"


def _lacks(kind: str, name: str, refused: Refused) -> str:
    if kind == "congestion control":
        there = ", ".join(refused.available_congestion_controls)
        module = f"tcp_{name.replace('-', '_')}"
        return f'this kernel ({platform.release()}) has no {kind} "{name}" (module {module}); it has {there}'
    return f'this kernel ({platform.release()}) has no {kind} "{name}" (module {_MODULES}{name})'


def _judge(job: Job, directory: Path, report: SupervisorReport | None, said: str, odd: Sequence[str]) -> Outcome:
    if report is None:
        return Outcome(RunStatus.FAILED, said)
    facts: RunFacts = {
        "real_s": report["real_s"],
        "cpu_s": report["cpu_s"],
        "privilege": report["privilege"],
        "nice": report["nice"],
        "events": 0,
        "confinement": {"landlock": report["landlock"]},
    }
    if report["end"] == End.CANCELLED:
        return Outcome(RunStatus.CANCELLED, "it was interrupted", facts)
    reasons = (
        _failure(job, directory, report),
        f"it left something other than regular files in its run directory: {', '.join(odd[:_NAMED])}" if odd else None,
    )
    reason = "; ".join(reason for reason in reasons if reason) or None
    return Outcome(RunStatus.FAILED if reason else RunStatus.OK, reason, facts)


def _failure(job: Job, directory: Path, report: SupervisorReport) -> str | None:
    """Say why the run failed, as the agent reports it, or the supervisor if the agent could not; None if it did not."""
    outcome = read_outcome(directory)
    if report["end"] == End.TIME_LIMIT:
        return job.overdue + console_tail(directory)
    if outcome is None:
        return f"its agent ended early (exit status {report['exit_status']}){console_tail(directory)}"
    return None if outcome["status"] == RunStatus.OK else str(outcome.get("reason", "the agent gave no reason"))
