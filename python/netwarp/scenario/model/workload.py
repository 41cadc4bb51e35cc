"""Workloads of a lab (flows, a command, a session): the properties in which stages tell them apart."""

from dataclasses import dataclass

_LIMIT_BASE_S = 120.0
_LIMIT_PER_S = 2.0
COMMAND_LIMIT_S = 600.0
"""The real time that a command may take, whose duration is not known before."""
COMMAND_MEMORY_BYTES = 1024 * 2**20
"""The memory of a command's machine, for programs and for changed files."""


@dataclass(frozen=True)
class Workload:
    """Needs of a workload: `limit_s` seconds of real time unless the scenario says otherwise, at least `memory_bytes`.

    `makes_network`: there is no network except its own. `has_machine`: it runs in its own machine, in virtual
    time. `needs_flows`: nothing but flows sends. `takes_host_time`: its computing takes as long as on the host, so
    that it cannot be repeated. `warmup_ns`: the part of its beginning that metrics ignore.
    """

    limit_s: float
    memory_bytes: int = 0
    makes_network: bool = False
    has_machine: bool = False
    needs_flows: bool = False
    takes_host_time: bool = False
    warmup_ns: int = 0


def of_flows(duration_ns: int, warmup_ns: int) -> Workload:
    """The workload of a scenario that has flows alone."""
    limit_s = _LIMIT_BASE_S + _LIMIT_PER_S * duration_ns / 1e9
    return Workload(limit_s=limit_s, needs_flows=True, warmup_ns=warmup_ns)
