"""The contract of an engine: its input and output, its capabilities, and how other processes name it.

An engine is a class that fits `Engine`, and a line in the registry (`registry.py`). Nothing else in netwarp names an
engine: callers ask for the property that they depend on.
"""

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from netwarp.engines.reports import FoundFields, RunFacts
from netwarp.lab_format.model import Lab
from netwarp.plan import Plan
from netwarp.scenario.model import Scenario
from netwarp.scenario.source import Keys
from netwarp.store.run_status import RunStatus
from netwarp.values.json_values import Json


class EngineError(Exception):
    """This machine cannot run the engine; the message is a sentence that says what is missing and how to fix it."""


class UnknownEngineError(EngineError):
    """No engine has the given name (a usage error)."""


class MissingPartError(EngineError):
    """A part of the engine is missing here that could be copied from another machine.

    `part` is its name in `Engine.parts`, `path` the directory or file of this machine to which it would be copied.
    """

    def __init__(self, message: str, part: str, path: str) -> None:
        super().__init__(message)
        self.part, self.path = part, path


@dataclass(frozen=True)
class Capabilities:
    """Capabilities of an engine.

    `clock`: whether a run's time is virtual, so that the host's load cannot affect it, or real. `deterministic`: the
    same scenario, seed and identity give the same bytes. `exact`: it records every packet and every ACK, not only
    samples. `captures`: it can capture packets. `portable`: its runs may be made on any machine with the same identity,
    such as the workers of a Dask scheduler. `modules`: it loads kernel modules that the scenario brings. `kernels`: it
    runs on kernels of the scenario's choice.
    """

    clock: Literal["virtual", "real"]
    deterministic: bool
    exact: bool
    captures: bool
    portable: bool
    modules: bool = False
    kernels: bool = False


BY_DIGEST = "sha256:"
"""The prefix that names a kernel by the digest of its image."""


@dataclass(frozen=True)
class EngineOptions:
    """Options with which an engine is found; None: not given. An engine refuses an option that it cannot honour.

    `kernel` is a kernel of `netwarp kernel list`: its name, its key, its path, or `sha256:` and the digest of its
    image. `read`: files and directories of this machine that runs may read, in addition to the system's and those of
    the scenario's directory. `inventory` is a file that names the machine of each node.
    """

    kernel: str | None = None
    read: tuple[Path, ...] = ()
    inventory: Path | None = None


@dataclass(frozen=True)
class EngineSpec:
    """An engine by name, so that another process can find the same one. It can be pickled."""

    name: str
    options: EngineOptions


def unheard() -> None:
    """Do nothing: the default callback of `Job.started`."""


@dataclass(frozen=True)
class Job:
    """One run, ready to be executed. `memory_bytes` is the virtual machine's memory, `time_limit_s` is in real seconds.

    `time_limit_s` bounds the real time of the run, without the time in which the host gives a virtual machine no
    processor.

    The run's programs may read the scenario's `folder`, and the paths that the user allows beyond it (`read`). The
    output of the command of a `live` run goes to this process's standard output and error as well. An engine in virtual
    time calls `started` when it has nothing left to do but wait, so that this process may use the time.
    """

    id: str
    seed: int
    lab: Lab
    memory_bytes: int
    time_limit_s: float
    folder: Path
    read: tuple[Path, ...] = ()
    live: bool = False
    started: Callable[[], None] = unheard
    caller: int | None = None

    @property
    def overdue(self) -> str:
        """The reason of a run that has reached its time limit."""
        return f"it did not end within {self.time_limit_s:g} s of real time ([run] time_limit)"


@dataclass(frozen=True)
class Outcome:
    """The outcome of a run: `ok`, `failed` or `cancelled`, and why; `facts` are about its execution (seconds, events).

    `found` are fields of its lab that only the run could determine, such as how long a command took. `by_host`: this
    machine made it fail (its disk, its memory, a signal), so that the same command makes the run again. `notes` are
    sentences for the user of the run, whatever its status.
    """

    status: RunStatus
    reason: str | None = None
    facts: RunFacts = field(default_factory=RunFacts)
    found: FoundFields = field(default_factory=FoundFields)
    by_host: bool = False
    notes: tuple[str, ...] = ()


class Engine(Protocol):
    """Executes runs, several at once from several threads."""

    @property
    def spec(self) -> EngineSpec:
        """The name and options with which another process or machine finds the same engine."""

    @property
    def capabilities(self) -> Capabilities:
        """Its capabilities."""

    @property
    def parts(self) -> Mapping[str, str]:
        """Files and directories of the engine that may be copied to another machine: name in `own_identity` → path."""

    @property
    def facts(self) -> Mapping[str, Json]:
        """Facts that readers of the records need: they go into run.json beside the lab (`kernel`)."""

    @property
    def own_identity(self) -> Mapping[str, str]:
        """Every part of the engine that decides a result (digests of kernel, agent, tools): part of every run's id."""

    def identity(self, scenario: Scenario) -> Mapping[str, str]:
        """Return `own_identity` and the digests of the scenario's programs, which also decide its results."""

    def identity_here(self, asked: Mapping[str, str]) -> Mapping[str, str]:
        """Return `own_identity`, and this machine's digests of the programs that another identity names; missing ones
        are left out."""

    def check_files(self, scenario: Scenario) -> Iterable[tuple[Keys, str]]:
        """Find files that a scenario names and its runs may not read, as `check` does; called before any is read."""

    def check(self, plan: Plan) -> Iterable[tuple[Keys, str]]:
        """Find parts of a plan that this engine cannot execute: the place in the scenario, and a sentence."""

    @property
    def warnings(self) -> Sequence[str]:
        """Sentences for the user who runs it on this machine. Raises EngineError."""

    def run(self, job: Job, directory: Path, cpus: Sequence[int], cancelled: threading.Event) -> Outcome:
        """Execute `job` in `directory`, which holds its run.json, on one CPU; return how it went.

        When `cancelled` is set the run is ended at once.
        """
