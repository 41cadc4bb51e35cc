"""What the programs of netwarp's agent report about a run, in JSON."""

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
    """What the guard of a virtual machine says of its end; seconds are of the wall clock."""

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
    """What the supervisor of a lab in this machine's own kernel says of its end."""

    end: str
    exit_status: int | None
    real_s: float
    cpu_s: float
    privilege: str
    nice: int
    landlock: int


class CommandFacts(TypedDict, total=False):
    """What of a command's end goes into status.json."""

    exit_code: int
    duration_ns: int
    files: list[Json]
    left_out: list[str]
    left_out_count: int
    quotas: int
    charged: list[dict[str, str | int]]


class RunFacts(CommandFacts, total=False):
    """What status.json says of a run beside its status: seconds, and what an engine or the analysis found odd."""

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
    """How a run went, as the agent that made it says; `overdue` is why a command counts as failed."""

    status: str
    reason: str
    overdue: str
