"""What every engine takes and gives."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol


class EngineError(Exception):
    """This machine cannot run the engine; the message is a sentence that says what is missing and what mends it."""


@dataclass(frozen=True)
class Job:
    """One run, ready to be executed. `memory_bytes` is the virtual machine's, `time_limit_s` real seconds.

    What it runs may read the scenario's `folder`, and what whoever runs it allows beyond that (`read`).
    """

    id: str
    seed: int
    lab: Mapping[str, Any]
    memory_bytes: int
    time_limit_s: float
    folder: Path
    read: tuple[Path, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """How a run went: `ok`, `failed` or `cancelled`, and why; `facts` are of the wall clock (seconds, events)."""

    status: str
    reason: str | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)


class Engine(Protocol):
    """Executes runs, several at once from several threads."""

    @property
    def name(self) -> str:
        """As in `--engine`."""

    @property
    def identity(self) -> Mapping[str, str]:
        """Whatever of the engine decides a result (digests of kernel, agent, tools): part of every run's id."""

    @property
    def read(self) -> tuple[Path, ...]:
        """What whoever runs it allows runs to read of this machine's files."""

    def run(self, job: Job, directory: Path, cpu: int | None, cancelled: threading.Event) -> Outcome:
        """Execute `job` in `directory`, which holds its run.json, on one CPU; return how it went.

        When `cancelled` is set the run is ended at once.
        """
