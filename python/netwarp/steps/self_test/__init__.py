"""Checks that this installation makes the records that it should: two small labs, compared with digests that ship.

The digests belong to a kernel's source, netwarp's changes to it, and netwarp's tools. If one of these is another here,
there is nothing to compare with, and each lab is run twice instead.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from netwarp.common.scratch import RUNS, scratch
from netwarp.engines import Engine, EngineOptions, find_engine, identity_of, refuse_unsupported
from netwarp.engines.tools import tools_digest
from netwarp.execute import execute
from netwarp.execute.manifest import manifest, plan_json
from netwarp.kernels import Kernel, find_kernel
from netwarp.plan import make_plan
from netwarp.scenario import Scenario, load_scenario
from netwarp.scenario.load.command import command_scenario
from netwarp.store.digests import digest_run
from netwarp.store.making import begin_result
from netwarp.store.run_status import RunStatus
from netwarp.store.rundir import RunDir
from netwarp.values.constants import SEARCH_PATH

NETWORK = "network"
COMMAND = "command"
ABOUT = {
    NETWORK: "TCP, UDP, a ping and iperf3 through fq_codel, with loss, jitter and changes",
    COMMAND: "a shell script of this machine that sleeps for an hour",
}
"""The labs, in the order in which they are run, in words."""
DIGESTS = Path(__file__).parent / "digests.json"
"""Written by `python -m tools.self_test` (`make digests`)."""

_SCRIPT = 'before=$(date +%s); echo asleep; sleep 3600; echo "awake after $(($(date +%s) - before)) s"'
_OUTPUT = "command.out"
_WITH_IDENTITY = "run.json"
"""The file that names the kernel, agent and programs of a run, so that it differs where its records do not."""


class Verdict(StrEnum):
    """The verdict on a lab."""

    SAME = "same"
    """Its records have the bytes that they should have."""
    REPEATED = "repeated"
    """There are no digests to compare with; two runs have the same bytes."""
    OTHER = "other"
    """Its records have other bytes than they should have, the same in two runs."""
    NOT_REPEATED = "not repeated"
    """Two runs on this machine have different bytes."""
    FAILED = "failed"
    """The run failed."""


@dataclass(frozen=True)
class Checked:
    """The result of a lab: its name, the verdict, how many files were compared, and those that differ."""

    lab: str
    verdict: Verdict
    files: int = 0
    differing: tuple[str, ...] = ()
    reason: str = ""
    """The reason why the run failed."""

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return self.verdict in (Verdict.SAME, Verdict.REPEATED)


@dataclass(frozen=True)
class SelfTest:
    """The results of all labs on a kernel (its release); `unknown` names the parts for which no digests ship."""

    labs: tuple[Checked, ...]
    kernel: str
    compiler: str
    """The compiler of the kernel."""
    compiler_of_digests: str
    unknown: tuple[str, ...]
    seconds: float

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return all(lab.ok for lab in self.labs)


def self_test(kernel: str | None = None) -> SelfTest:
    """Run the labs on a kernel (default: the one that fits) and judge them. Raises EngineError, KernelError."""
    begin = time.monotonic()
    engine, found = find_engine(None, EngineOptions(kernel=kernel)), find_kernel(kernel)
    shipped = json.loads(DIGESTS.read_text())
    unknown = tuple(_unknown(found, shipped["made_with"]))
    with scratch(RUNS) as place:
        labs = tuple(_checked(lab, engine, place, None if unknown else shipped["records"][lab]) for lab in ABOUT)
    taken = time.monotonic() - begin
    return SelfTest(labs, found.version, found.compiler, shipped["made_with"]["compiler"], unknown, taken)


def made_with(kernel: Kernel) -> dict[str, str]:
    """The versions that decide the bytes of the labs' records, beside netwarp's code, and the compiler.

    Raises EngineError.
    """
    return {
        "kernel": kernel.version,
        "kernel_source": kernel.source_digest,
        "kernel_changes": kernel.tree_digest,
        "compiler": kernel.compiler,
        "tools": tools_digest(),
    }


def run_lab(lab: str, engine: Engine, place: Path) -> RunDir:
    """Run a lab in an empty directory. Raises EngineError, ScenarioError, StoreError."""
    place.mkdir()
    scenario = _scenario(lab, place)
    plan = make_plan(scenario, None, None, identity_of(engine, scenario))
    refuse_unsupported(plan, engine)
    with begin_result(
        place / "result",
        scenario_toml=scenario.source.text,
        plan=plan_json(plan, engine.spec.name),
        manifest=manifest(engine.spec.name, engine.own_identity, sys.argv),
    ) as result:
        if execute(plan, engine, result, jobs=1).interrupted:
            raise KeyboardInterrupt
        return RunDir(result.run_path(plan.runs[0].id))


def records_of(lab: str, run: RunDir) -> dict[str, str]:
    """SHA-256 (hex) of the files of a lab's run that do not depend on the machine, by their names.

    A command is this machine's own program, so only its output counts. Raises StoreError.
    """
    made = {name: digest for name, digest in digest_run(run.path).items() if name != _WITH_IDENTITY}
    return made if lab == NETWORK else {_OUTPUT: made.get(_OUTPUT, "")}


def _scenario(lab: str, place: Path) -> Scenario:
    if lab == NETWORK:
        return load_scenario(Path(__file__).parent / "network.toml")
    (place / "empty").mkdir()
    return command_scenario(["/bin/sh", "-c", _SCRIPT], place / "empty", env={"PATH": SEARCH_PATH}, varied={})


def _unknown(kernel: Kernel, shipped: Mapping[str, str]) -> Iterator[str]:
    here = made_with(kernel)
    if not kernel.own:
        yield "its kernel has patches or options of your own"
    if here["kernel_source"] != shipped["kernel_source"]:
        yield f"its kernel is compiled from another source ({kernel.version}; {shipped['kernel']} has digests)"
    if here["kernel_changes"] != shipped["kernel_changes"]:
        yield "its kernel has other changes of netwarp"
    if here["tools"] != shipped["tools"]:
        yield "its tools (tc, iperf3, tcpdump) have other versions"


def _checked(lab: str, engine: Engine, place: Path, expected: Mapping[str, str] | None) -> Checked:
    """Run a lab, and once more unless its records are the expected ones; judge it."""
    runs = []
    for number in (1, 2):
        run = run_lab(lab, engine, place / f"{lab}-{number}")
        status = run.status()
        if status["status"] == RunStatus.FAILED:
            return Checked(lab, Verdict.FAILED, reason=status.get("reason") or "it gives no reason")
        runs.append(records_of(lab, run))
        if expected is not None and not _differing(expected, runs[0]):
            return Checked(lab, Verdict.SAME, len(expected))
    if differing := _differing(*runs):
        return Checked(lab, Verdict.NOT_REPEATED, len(runs[0]), differing)
    if expected is None:
        return Checked(lab, Verdict.REPEATED, len(runs[0]))
    return Checked(lab, Verdict.OTHER, len(expected), _differing(expected, runs[0]))


def _differing(one: Mapping[str, str], other: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(name for name in sorted({*one, *other}) if one.get(name) != other.get(name))
