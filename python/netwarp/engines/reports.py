"""Reports of netwarp's agent about a run, in JSON."""

from __future__ import annotations

from enum import StrEnum
from typing import TypedDict

from netwarp.store.run_status import RunStatus
from netwarp.values.json_values import Json
from netwarp.values.keep import Keep


class RunningProgram(TypedDict):
    """The program that a machine ran when it was ended, and where."""

    name: str
    pid: int
    address: str
    command: str
    time_ns: int


class End(StrEnum):
    """The end of a run's programs: by themselves, or the reason why they were killed."""

    ENDED = "ended"
    CANCELLED = "cancelled"
    """The user cancelled the run."""
    TIME_LIMIT = "time_limit"
    COMPUTING = "computing"
    """A program computed too long without a system call."""
    STUCK = "stuck"
    """The machine's kernel computes, and its time stands still."""
    RECORD_ERROR = "record_error"
    """The records could not be written."""
    OUTPUT_CLOSED = "output_closed"
    """No program reads the command's output any more."""
    KEEPER_GONE = "keeper_gone"
    """The process that ends the machine with its guard has ended."""


class GuardReport(TypedDict):
    """The report of a virtual machine's guard about its end; seconds are real time."""

    end: End
    exit_status: int | None
    real_s: float
    own_s: float
    cpu_s: float
    guard_cpu_s: float
    computing_s: float
    events: int
    confinement: dict[str, Json]
    running: RunningProgram | None
    error: str | None
    by_host: bool
    cut: list[str]


class SupervisorReport(TypedDict):
    """The report of the supervisor of a lab in this machine's kernel about its end."""

    end: End
    exit_status: int | None
    real_s: float
    cpu_s: float
    privilege: str
    nice: int
    landlock: int


class CommandFacts(TypedDict, total=False):
    """Facts about a command's end in status.json.

    `by_exit_code`: the run failed for nothing but the command's exit code.
    """

    exit_code: int
    by_exit_code: bool
    duration_ns: int
    files: list[Json]
    left_out: list[str]
    left_out_count: int
    quotas: int
    charged: list[dict[str, str | int]]


class RunFacts(CommandFacts, total=False):
    """Facts about a run in status.json, beside its status: seconds, and oddities that engine or analysis found.

    `cpu_s` is of its machine, `guard_cpu_s` of the process that guards this and makes tables of its records.
    `end` is why its machine was ended, and is missing if that ended by itself. `package_j` are the joules of each
    package of processors meanwhile, of everything that the machine did; missing where they are not counted.
    """

    end: End
    real_s: float
    own_s: float
    cpu_s: float
    guard_cpu_s: float
    events: int
    confinement: dict[str, Json]
    privilege: str
    nice: int
    package_j: dict[str, float]
    by_host: bool
    notes: list[str]
    tests: dict[str, int]
    keep: Keep


class FoundFields(TypedDict, total=False):
    """Fields of a run's lab that only the run could determine."""

    duration_ns: int
    changes: list[Json]


class AgentOutcome(CommandFacts, total=False):
    """The agent's report about a run; `overdue` says why a command counts as failed, `changes` are those of
    links that it asked for, `happened` the times of the scenario's changes that waited for a state, by number."""

    status: RunStatus
    reason: str
    overdue: str
    changes: list[Json]
    happened: dict[str, int]
