"""Reports of netwarp's agent about a run, in JSON."""

from __future__ import annotations

from typing import TypedDict

from netwarp.json_values import Json


class RunningProgram(TypedDict):
    """The program that a machine ran when it was ended, and where."""

    name: str
    pid: int
    address: str
    command: str
    time_ns: int


class GuardReport(TypedDict):
    """The report of a virtual machine's guard about its end; seconds are real time."""

    end: str
    """`ended`, or why it was killed: `cancelled`, `time_limit`, `stuck` … (`agent/src/guard/mod.rs`)."""
    exit_status: int | None
    real_s: float
    own_s: float
    cpu_s: float
    computing_s: float
    events: int
    confinement: dict[str, Json]
    running: RunningProgram | None
    error: str | None
    by_host: bool
    cut: list[str]


class SupervisorReport(TypedDict):
    """The report of the supervisor of a lab in this machine's kernel about its end."""

    end: str
    exit_status: int | None
    real_s: float
    cpu_s: float
    privilege: str
    nice: int
    landlock: int


class CommandFacts(TypedDict, total=False):
    """Facts about a command's end in status.json."""

    exit_code: int
    duration_ns: int
    files: list[Json]
    left_out: list[str]
    left_out_count: int
    quotas: int
    charged: list[dict[str, str | int]]


class RunFacts(CommandFacts, total=False):
    """Facts about a run in status.json, beside its status: seconds, and oddities that engine or analysis found."""

    real_s: float
    own_s: float
    cpu_s: float
    events: int
    confinement: dict[str, Json]
    privilege: str
    nice: int
    by_host: bool
    notes: list[str]
    tests: dict[str, int]


class FoundFields(TypedDict, total=False):
    """Fields of a run's lab that only the run could determine."""

    duration_ns: int


class AgentOutcome(CommandFacts, total=False):
    """The agent's report about a run; `overdue` says why a command counts as failed."""

    status: str
    reason: str
    overdue: str
