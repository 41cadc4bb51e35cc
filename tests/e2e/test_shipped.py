"""Every shipped scenario, in a form as short as still says something."""

import json
from pathlib import Path

import pytest
from conftest import netwarp, succeed
from netwarp.scenario import shipped_scenarios

# What makes each short. Expectations are about the whole and may fail here; that runs succeed may not.
SHORT = {
    "bufferbloat": ["--set", "duration=5s"],
    "bufferbloat-50-100-150": ["--set", "duration=10s"],
    "coexistence": [
        *("--set", "duration=4s", "--set", "warmup=1s", "--set", "flows.cubic.count=2"),
    ],
    "buffer-sizing": [
        *("--set", "duration=4s", "--set", "warmup=1s", "--set", "links.bottleneck.queue=pfifo limit 83"),
    ],
    "join-and-leave": ["--case", "bbr"],
    "differential": ["--set", "duration=5s", "--case", "baseline", "--case", "bw-h1 20"],
    "mitigate": ["--case", "CoDel"],
    "tcp-vs-udp": ["--set", "duration=5s", "--set", "links.bottleneck.queue=fq_codel"],
    "md1": ["--set", "duration=2s", "--set", "flows.poisson.rate=80mbit", "--seeds", "2"],
    "mm1": ["--set", "duration=2s", "--set", "flows.poisson.rate=320mbit", "--seeds", "2"],
    "mm1k": ["--set", "duration=2s", "--set", "flows.poisson.rate=320mbit", "--seeds", "2"],
    "mobile": ["--set", "duration=5s", "--set", "links.radio.trace=lte"],
    "red-law": ["--set", "duration=3s", "--set", "flows.poisson.rate=110mbit"],
    "three-node": ["--case", "bw3Mbps_oneflow_RED", "--seeds", "1"],
    "three-node-builtin": ["--case", "bw3Mbps_oneflow_pfifo", "--seeds", "1"],
    "three-node-published": ["--case", "bwNORMAL_oneflow_RED", "--seeds", "1"],
    "tuners": ["--set", "duration=5s", "--set", "links.bottleneck.delay=10ms"],
}

SENT_INTO = ("bottleneck:r1", "link:h1", "radio:r1", "far:bottleneck")
"""The link that the traffic is to fill."""


def test_every_shipped_scenario_is_tested() -> None:
    assert set(SHORT) == set(shipped_scenarios())


@pytest.mark.parametrize("name", sorted(SHORT))
def test_a_shipped_scenario_runs(tmp_path: Path, name: str) -> None:
    done = netwarp("run", name, *SHORT[name], "-o", tmp_path / "r", "--json")
    assert done.returncode in (0, 1), done.stderr
    rows = json.loads(done.stdout)
    assert {row["status"] for row in rows} == {"ok"}, done.stderr
    busy = [row["value"] for row in rows if row["metric"] == "utilisation" and row["name"] in SENT_INTO]
    assert min(busy) > 0.5
    assert list((tmp_path / "r" / "plots").glob("*.png"))


@pytest.mark.parametrize("name", sorted(SHORT))
def test_a_shipped_scenario_can_be_shown(name: str) -> None:
    assert succeed("show", name).stdout.startswith(f"{name}: ")
