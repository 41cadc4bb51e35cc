"""The lab of a command: a machine whose network the command makes."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from netwarp.lab.settings import MACHINE, OPEN_FILES, WIRE
from netwarp.lab_format.model import Lab, LabExec, LabMachine, LabRecord, LabWires
from netwarp.scenario.model import Scenario
from netwarp.scenario.model.exec import DAY_NS, START_TIME, Exec
from netwarp.scenario.model.run import MAX_RUN_NS
from netwarp.values.constants import LAB_FORMAT, SEARCH_PATH

T0_NS = 60 * 10**9
"""The machine's uptime when the command starts, which costs no real time. Some programs take an uptime near 0 for a
clock error (Open vSwitch 3.1 then starts no threads and loses every packet)."""

ENV = {
    "PATH": SEARCH_PATH,
    "HOME": "/root",
    "USER": "root",
    "LOGNAME": "root",
    "SHELL": "/bin/sh",
    "LANG": "C.UTF-8",
    "TERM": "dumb",
    # OpenSSL must not use RDRAND and RDSEED, which cannot be trapped (OPENSSL_ia32cap(3)).
    "OPENSSL_ia32cap": "~0x4000000000000000:~0x40000",
}
"""The default environment of every command; it has nothing of the caller's environment."""
_RESOLVED = {"env", "node"}
_AS_GIVEN = [one.name for one in fields(LabExec) if one.name in Exec.model_fields and one.name not in _RESOLVED]


def empty_lab(scenario: Scenario, seed: int) -> Lab:
    """The lab of one run without a network."""
    return Lab(
        format=LAB_FORMAT,
        seed=seed,
        t0_ns=T0_NS,
        duration_ns=scenario.duration,
        machine=LabMachine(sysctl=MACHINE, open_files=OPEN_FILES),
        wire=LabWires(sysctl=WIRE),
        flows=(),
        record=LabRecord(exact=True, kept_bytes=scenario.run.keep),
    )


def with_command(lab: Lab, scenario: Scenario) -> Lab:
    """The lab with the scenario's command, if it has one: it runs instead of the flows, or beside them."""
    command = scenario.command
    if command is None:
        return lab
    exact = lab.record.exact and command.record != "none"
    if not lab.nodes:
        return replace(lab, record=replace(lab.record, exact=exact), exec=_command(scenario, command))
    happens = command.flows
    return replace(
        lab,
        t0_ns=T0_NS,
        duration_ns=MAX_RUN_NS if command.terminal else command.timeout or DAY_NS,
        flows=lab.flows if happens else (),
        changes=lab.changes if happens else (),
        record=replace(lab.record, exact=exact, sample_ns=0),
        exec=_command(scenario, command),
    )


def _command(scenario: Scenario, command: Exec) -> LabExec:
    starts = command.start_time
    if starts is None and not scenario.nodes:
        starts = START_TIME
    node = command.node or next(iter(scenario.nodes), None)
    own_ns = scenario.nodes[node].syscall_time if node else 0
    return LabExec(
        **_as_given(command),
        env={**ENV, **command.env},
        rate_bps=command.rate or None,
        start_ns=tuple(starts.quantiles_ns()) if starts else (),
        syscall_ns=command.syscall_time or own_ns,
        clock_off_ns=tuple(command.clock_offset.quantiles_ns()),
        compute=command.compute_time == "host",
        node=node,
    )


def _as_given(command: Exec) -> dict[str, Any]:
    """The options that the lab has under the same name, with the same value."""
    return {name: getattr(command, name) for name in _AS_GIVEN}
