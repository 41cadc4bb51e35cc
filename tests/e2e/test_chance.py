"""Random numbers from the seed, a stream for each purpose: additional draws in one place shift nothing in another."""

from __future__ import annotations

from pathlib import Path

import pytest
from e2e_runs import Runs
from e2e_traffic import flow
from netwarp.store.rundir import RunDir

TABLES = ("packets", "acks", "sockets", "tuples", "wires")
DRAWS = """
import os, socket, subprocess, sys, uuid
n = int(sys.argv[1])
os.urandom(100 * n)
for _ in range(n):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        with socket.socket(socket.AF_INET, kind) as own:
            own.bind(("", 0))
for _ in range(n // 10):
    subprocess.run(["tc", "qdisc", "replace", "dev", "lo", "root", "fq_codel"], check=True)
    subprocess.run(["tc", "qdisc", "replace", "dev", "lo", "root", "sfq", "perturb", "10"], check=True)
    open("/proc/sys/kernel/random/uuid").read()
with open("/dev/urandom", "rb") as source:
    source.read(n)
"""
LAB = """
name = "chance"
duration = "6s"
[run]
start_jitter = "0s"
[nodes]
h1 = {}
h2 = {}
h3 = {}
r1 = { forward = true }
[links.access]
ends = ["h1", "r1"]
rate = "1gbit"
[links.aside]
ends = ["h3", "r1"]
rate = "1gbit"
[links.bottleneck]
ends = ["r1", "h2"]
rate = "10mbit"
delay = "10ms"
loss = "0.2%"
queue = "red limit 400000 min 30000 max 90000 avpkt 1000 burst 55 probability 0.02 bandwidth 10mbit"
"""
FLOWS = "\n".join(
    [
        flow("bbr", "bulk", 'cc = "bbr"'),
        flow("real", "iperf3", 'cc = "cubic"', 'start = "1s"', 'duration = "4s"'),
    ]
)


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "draws.py"
    path.write_text(DRAWS)
    return path


def _draws(script: Path, count: int) -> str:
    client = f'client = ["python3", "{script}", "{count}"]'
    return flow("zother", "command", client, 'start = "500ms"', ends=("h3", "h2"))


def _same(one: RunDir, other: RunDir) -> None:
    for table in TABLES:
        first, second = (run.scan(table).collect() for run in (one, other))
        assert first.height > 0, table
        assert first.equals(second), table


def test_a_program_that_draws_more_shifts_nothing(runs: Runs, script: Path) -> None:
    """Random bytes, ephemeral ports, addresses of new processes, the perturbations of new queues."""
    _same(*(runs(LAB + FLOWS + _draws(script, count), "--read", str(script)) for count in (0, 50)))


def test_a_program_more_shifts_nothing(runs: Runs, script: Path) -> None:
    _same(runs(LAB + FLOWS), runs(LAB + FLOWS + _draws(script, 50), "--read", str(script)))


def test_chance_is_the_seeds(runs: Runs) -> None:
    """Another seed has other ports, losses and phases; BBR's streams are not those of the ports."""
    one, other = (runs(LAB + FLOWS, "--set", f"seeds=[{seed}]") for seed in (1, 2))
    ports = [set(run.scan("tuples").collect()["source_port"]) for run in (one, other)]
    assert ports[0] != ports[1]
    lost = [int(run.scan("wires").collect()["lost_pkts"].sum()) for run in (one, other)]
    assert all(lost)
    assert not one.scan("packets").collect().equals(other.scan("packets").collect())


UNIQUE = """
import os
print(os.urandom(16).hex(), flush=True)
if os.fork() == 0:
    print(os.urandom(16).hex(), flush=True)
    os._exit(0)
os.wait()
print(os.urandom(16).hex())
"""


def test_programs_do_not_share_a_stream(runs: Runs, tmp_path: Path) -> None:
    """Two flows that run one program, and a parent and its child, each draw different numbers."""
    (tmp_path / "unique.py").write_text(UNIQUE)
    client = f'client = ["python3", "{tmp_path}/unique.py"]'
    run = runs(LAB + flow("first", "command", client) + flow("second", "command", client), "--read", str(tmp_path))
    drawn = [number for name in ("first", "second") for number in (run.path / f"{name}-client.out").read_text().split()]
    assert len(drawn) == len(set(drawn)) == 6
