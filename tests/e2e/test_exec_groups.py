"""Control groups of both versions, and quotas, which limit nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from e2e_command import netwarp
from e2e_runs import only_run

GROUPS = "/sys/fs/cgroup"
MOUNT = f"""
set -e
for of in cpu,cpuacct cpuset memory pids freezer; do
    mkdir -p {GROUPS}/$of
    mount -t cgroup -o $of cgroup {GROUPS}/$of
done
"""
"""The script of `cgroupfs-mount`: where version 2 is mounted, each directory is a group of it."""


def run(place: Path, script: str) -> tuple[str, list[str]]:
    """The output of a script, and the notes of its result."""
    answer = netwarp("exec", "-o", place / "result", "--", "sh", "-c", script, cwd=place)
    assert answer.code == 0, answer.err + answer.out
    status = json.loads((only_run(place / "result").path / "status.json").read_text())
    assert status["status"] == "ok", status
    return answer.out, status.get("notes", [])


def test_a_script_mounts_version_1_cpuset_included(tmp_path: Path) -> None:
    script = f"""{MOUNT}
        mkdir {GROUPS}/cpuset/h1
        echo 0 > {GROUPS}/cpuset/h1/cpuset.cpus; echo 0 > {GROUPS}/cpuset/h1/cpuset.mems
        echo $$ > {GROUPS}/cpuset/h1/tasks
        echo 1 2> /dev/null > {GROUPS}/cpuset/h1/cpuset.cpus || echo one processor
        grep -c cpuset:/h1 /proc/self/cgroup; grep Cpus_allowed_list /proc/self/status
    """
    printed, notes = run(tmp_path, script)
    assert printed.split("\n") == ["one processor", "1", "Cpus_allowed_list:\t0", ""]
    assert notes == []


def test_a_controller_in_use_stays_with_version_2(tmp_path: Path) -> None:
    script = f"""
        mkdir {GROUPS}/mine {GROUPS}/cpu; sleep 100 & echo $! > {GROUPS}/mine/cgroup.procs
        mount -t cgroup -o cpu cgroup {GROUPS}/cpu 2> /dev/null || echo busy
        kill $!; wait; mount -t cgroup -o cpu cgroup {GROUPS}/cpu && echo mounted
    """
    assert run(tmp_path, script)[0] == "busy\nmounted\n"


@pytest.mark.parametrize(
    "script",
    [
        f"mkdir {GROUPS}/h1; echo '10000 100000' > {GROUPS}/h1/cpu.max",
        f"{MOUNT} mkdir {GROUPS}/cpu,cpuacct/h1; echo 10000 > {GROUPS}/cpu,cpuacct/h1/cpu.cfs_quota_us",
    ],
)
def test_a_quota_is_told_of_since_it_limits_nothing(script: str, tmp_path: Path) -> None:
    (note,) = run(tmp_path, script)[1]
    assert note.startswith("a quota of processor time was set (1 time: ")
    assert "limits nothing" in note


LIMITED = """
from mininet.net import Mininet
from mininet.node import CPULimitedHost
from mininet.link import TCLink
from mininet.topo import Topo

class Two(Topo):
    def build(self):
        hosts = [self.addHost(name, cpu=0.5, cores="0") for name in ("h1", "h2")]
        self.addLink(*hosts, bw=10, delay="5ms", max_queue_size=100)

net = Mininet(topo=Two(), host=CPULimitedHost, link=TCLink, controller=None)
net.start()
print(net["h1"].cmd("ping -c 2 -q 10.0.0.2").splitlines()[-1])
print(net["h1"].cmd("cat /proc/self/cgroup | grep -c /h1"))
net.stop()
"""


def test_mininets_cpu_limited_hosts_run(tmp_path: Path) -> None:
    (tmp_path / "limited.py").write_text(LIMITED)
    printed, notes = run(tmp_path, f"{MOUNT} /usr/bin/python3 limited.py")
    answer, groups = printed.split("\n")[:2]
    assert "min/avg/max" in answer
    assert int(groups) >= 2
    assert any("limits nothing" in note for note in notes)
