"""Requirements of the engine `host` on a kernel, and results that it attributes to the machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from netwarp.analysis.run.machine import machine_doubts
from netwarp.engines.host.needs import impairments, sysctls, used_sections
from netwarp.lab import build_lab
from netwarp.plan import make_plan
from netwarp.scenario import parse_scenario
from netwarp.store.rundir import RunDir
from netwarp.store.schemas import FLOWS, MACHINE

SCENARIO = """
name = "x"
duration = "10s"
[nodes]
a = { sysctl = { "net.ipv4.tcp_ecn" = "1" } }
b = {}
[links.wire]
ends = ["a", "b"]
rate = "10mbit"
LINK
[flows.bulk]
tool = "bulk"
from = "a"
to = "b"
MORE
"""


def _plan(link: str = "", more: str = "") -> Any:
    return make_plan(parse_scenario(SCENARIO.replace("LINK", link).replace("MORE", more)))


@pytest.mark.parametrize(
    ("link", "more", "found"),
    [
        ("", "", []),
        ('delay = "0ms"', "", []),
        ('delay = { forward = "1ms" }', "", ["delay"]),
        ('delay = "5ms"\njitter = "1ms"', "", ["delay", "jitter"]),
        ('loss = "0%"', "", []),
        ('loss = "1%"\nduplicate = "1%"\ncorrupt = "1%"', "", ["loss", "duplicate", "corrupt"]),
        ("", '[[changes]]\nat = "1s"\nlink = "wire"\nrate = "5mbit"', []),
        ("", '[[changes]]\nat = "1s"\nlink = "wire"\ndelay = "5ms"', ["delay"]),
        ("", '[[changes]]\nat = "1s"\nlink = "wire"\noutage = "100ms"', ["outage"]),
    ],
)
def test_what_takes_a_netem_is_found_where_it_stands(link: str, more: str, found: list[str]) -> None:
    named = [item for key, section in used_sections(_plan(link, more)) for item in impairments(key, section)]
    assert [what for _, what in named] == found
    assert all(keys[-1] == what for keys, what in named)


def test_given_sysctls_are_tried() -> None:
    named = [item for key, section in used_sections(_plan()) for item in sysctls(key, section)]
    assert named == [(("nodes", "a", "sysctl", "net.ipv4.tcp_ecn"), ("net.ipv4.tcp_ecn", "1"))]


def test_a_lab_in_real_time_leaves_the_machine_alone() -> None:
    (run,) = _plan()
    virtual, real = build_lab(run, devices=False), build_lab(run, exact=False, real_time=True)
    assert all(link.device for link in build_lab(run).links) and not any(link.device for link in real.links)
    assert virtual.machine.sysctl
    assert not real.machine.sysctl
    assert (real.record.exact, real.record.sample_ns) == (False, 10_000_000)
    assert "burst 1 cburst 1 " in virtual.links[0].ends[0].tc[1]
    # What 10 Mbit/s give in 1 ms.
    assert "burst 1250 cburst 1250 " in real.links[0].ends[0].tc[1]


QUIET = {
    "cpus": 2,
    "busy_us": 0,
    "steal_us": 0,
    "softnet_dropped_pkts": 7,
    "softnet_squeezed": 0,
    "agent_cpu_us": 0,
    "sampling_cpu_us": 0,
    "timers": 0,
    "late_timers": 0,
    "lateness_max_us": 40,
    "realtime_offset_ns": 10**18,
    "udp_buffer_errors": None,
    "capture_missed_pkts": 0,
}


def _run_dir(path: Path, end: dict[str, Any], busy_us: int = 9_900_000) -> RunDir:
    """A run of ten seconds whose last sample of the machine has these values."""
    path.mkdir()
    (run,) = _plan()
    described = {"id": run.id, "seed": 1, "lab": build_lab(run, exact=False, real_time=True).as_json()}
    (path / "run.json").write_text(json.dumps(described))
    last = QUIET | {"busy_us": 10**7, "timers": 1000, "udp_buffer_errors": 0} | end
    samples = [{"time_ns": 0, **QUIET}, {"time_ns": 10**10, **last}]
    machine = pa.Table.from_pylist(samples, pa.schema([c.field for c in MACHINE.columns]))
    with pa.ipc.new_stream(str(path / "machine.arrows"), machine.schema) as writer:
        writer.write_table(machine)
    flow = {c.name: None for c in FLOWS.columns} | {"flow_id": 0, "name": "bulk", "tool": "bulk", "start_ns": 0}
    flow |= {"connect_ns": 0, "end_ns": 10**10, "busy_us": busy_us}
    table = pa.Table.from_pylist([flow], pa.schema([c.field for c in FLOWS.columns]))
    with pa.ipc.new_stream(str(path / "flows.arrows"), table.schema) as writer:
        writer.write_table(table)
    return RunDir(path)


@pytest.mark.parametrize(
    ("end", "said"),
    [
        ({}, ""),
        ({"busy_us": 19_900_000}, "2 processors were busy for 100% of the run"),
        ({"steal_us": 400_000}, "took 2.0% of the processors' time (steal)"),
        ({"late_timers": 50, "lateness_max_us": 12_300}, "50 of 1000 timers of the run (5%)"),
        ({"softnet_dropped_pkts": 9}, "dropped 2 packets before any protocol saw them"),
        ({"udp_buffer_errors": 3}, "3 datagrams were lost in full sockets"),
        ({"capture_missed_pkts": 3}, "captures missed 3 packets"),
        ({"realtime_offset_ns": 10**18 + 5_000_000}, "clock was set by 5 ms"),
    ],
)
def test_what_the_machine_did_is_said_with_the_evidence(tmp_path: Path, end: dict[str, Any], said: str) -> None:
    doubts = list(machine_doubts(_run_dir(tmp_path / "run", end)))
    assert len(doubts) == (1 if said else 0), doubts
    assert said in " ".join(doubts)


def test_a_stalled_generator_is_named(tmp_path: Path) -> None:
    (doubt,) = machine_doubts(_run_dir(tmp_path / "run", {}, busy_us=8_000_000))
    assert doubt.startswith("flow bulk had nothing to send for 20% of its time")
