"""The contract of an engine: what it takes and gives, what it is capable of, and how it is named elsewhere.

An engine is a class of its own that fits `Engine`, and a line in the registry (`registry.py`). Nothing else in netwarp
names one: whoever needs to know something of an engine asks for the property.
"""

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from netwarp.engines.reports import FoundFields, RunFacts
from netwarp.json_values import Json
from netwarp.lab_format.model import Lab
from netwarp.plan import Plan
from netwarp.scenario.model import Scenario
from netwarp.scenario.source import Keys
from netwarp.store.run_status import RunStatus


class EngineError(Exception):
    """This machine cannot run the engine; the message is a sentence that says what is missing and how to fix it."""


class MissingPartError(EngineError):
    """A part of the engine that could be copied from another machine is not here.

    `part` is its name in `Engine.parts`, `place` the directory or file of this machine to which it would be copied.
    """

    def __init__(self, message: str, part: str, path: str) -> None:
        super().__init__(message)
        self.part, self.path = part, path


@dataclass(frozen=True)
class Capabilities:
    """What an engine can do.

    `clock`: whether a run's time is virtual, so that the host's load cannot affect it, or real. `deterministic`: the
    same scenario, seed and identity give the same bytes. `exact`: it records every packet and every ACK, not samples
    alone. `captures`: it can capture packets. `portable`: its runs may be made on any machine with the same identity,
    as on the workers of a Dask scheduler. `modules`: it loads kernel modules of the scenario's own. `kernels`: it runs
    on kernels of the scenario's choice.
    """

    clock: Literal["virtual", "real"]
    deterministic: bool
    exact: bool
    captures: bool
    portable: bool
    modules: bool = False
    kernels: bool = False


BY_DIGEST = "sha256:"
"""How a kernel is named by the digest of its image."""


@dataclass(frozen=True)
class EngineOptions:
    """What may be chosen of an engine where it is asked for; None: not given. An engine refuses what it cannot honour.

    `kernel` names one of `netwarp kernel list`, by its key, its path, or `sha256:` and the digest of its image. `read`:
    files and directories of this machine that runs may read, beside the system's and those of the scenario's directory.
    `inventory` is a file that names the machines which are the nodes of labs.
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
    """What nobody waits for."""


@dataclass(frozen=True)
class Job:
    """One run, ready to be executed. `memory_bytes` is the virtual machine's, `time_limit_s` real seconds.

    `time_limit_s` bounds the time that the run takes of its own; in real time that is all that passes.

    What it runs may read the scenario's `folder`, and what whoever runs it allows beyond that (`read`). Of a `live` one
    what its command prints goes to this process's standard output and error as well. An engine in
    virtual time calls `started` when it has nothing left to do but wait, so that this process may use the time.
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

    @property
    def overdue(self) -> str:
        """What is said of a run that has reached its time limit."""
        return f"it did not end within {self.time_limit_s:g} s of real time ([run] time_limit)"


@dataclass(frozen=True)
class Outcome:
    """How a run went: `ok`, `failed` or `cancelled`, and why; `facts` are of the wall clock (seconds, events).

    `found` are fields of its lab that only the run could determine, such as how long a command took. `by_host`: this
    machine made it fail (its disk, its memory, a signal), so that the same command makes the run again. `notes` are
    sentences that whoever uses the run should know, whatever its status.
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
        """The name of this very engine, for other processes and other machines."""

    @property
    def capabilities(self) -> Capabilities:
        """What it can do."""

    @property
    def parts(self) -> Mapping[str, str]:
        """Files and directories of the engine that may be copied to another machine: name in `own_identity` → path."""

    @property
    def facts(self) -> Mapping[str, Json]:
        """What readers of the records must know of it: goes into run.json beside the lab (`kernel`)."""

    @property
    def own_identity(self) -> Mapping[str, str]:
        """Whatever of the engine decides a result (digests of kernel, agent, tools): part of every run's id."""

    def identity(self, scenario: Scenario) -> Mapping[str, str]:
        """`own_identity`, and what beside the engine decides the results of a scenario: its programs."""

    def identity_here(self, asked: Mapping[str, str]) -> Mapping[str, str]:
        """`own_identity`, and what this machine has now of what another's identity names; without what is missing."""

    def check_files(self, scenario: Scenario) -> Iterable[tuple[Keys, str]]:
        """Files that a scenario names and its runs may not read, as `check`; asked before anything is read of them."""

    def check(self, plan: Plan) -> Iterable[tuple[Keys, str]]:
        """What of a plan this engine cannot do: the place in the scenario, and a sentence."""

    @property
    def warnings(self) -> Sequence[str]:
        """What whoever runs it on this machine should know, in sentences. Raises EngineError."""

    def run(self, job: Job, directory: Path, cpu: int | None, cancelled: threading.Event) -> Outcome:
        """Execute `job` in `directory`, which holds its run.json, on one CPU; return how it went.

        When `cancelled` is set the run is ended at once.
        """
