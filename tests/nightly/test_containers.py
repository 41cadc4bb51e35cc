"""Runs in unprivileged containers of podman, under its default profile, have the same bytes as outside."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from netwarp.kernels import cache_directory

from bench.repeats import run_once

ROOT = Path(__file__).parents[2]
SCENARIO = """\
name = "contained"
duration = "1s"
[nodes]
h1 = {}
h2 = {}
[links.l]
ends = ["h1", "h2"]
rate = "20mbit"
delay = "5ms"
queue = "fq_codel limit 100"
[flows.bulk]
from = "h1"
to = "h2"
tool = "bulk"
count = 5
[flows.iperf]
from = "h1"
to = "h2"
tool = "iperf3"
[flows.look]
from = "h1"
to = "h2"
tool = "command"
client = ["sh", "-c", "cat /proc/meminfo /proc/self/maps /proc/1/maps; ss -tan; umask; ulimit -a; env; exec dmesg"]
"""
OPTIONS = {
    "as it is": (),
    "no capabilities": ("--cap-drop=all", "--security-opt=no-new-privileges"),
    "a small shared memory": ("--shm-size=8m",),
}


@pytest.fixture
def storage(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The directory of podman's state; its path may have at most 50 characters."""
    with TemporaryDirectory(prefix="netwarp-podman-", dir="/tmp", ignore_cleanup_errors=True) as name:
        # Its own limits of files and processes are higher than what a host may grant.
        (Path(name) / "containers.conf").write_text("[containers]\ndefault_ulimits = []\n")
        monkeypatch.setenv("CONTAINERS_CONF", f"{name}/containers.conf")
        yield Path(name)
        subprocess.run(["umount", "--lazy", f"{name}/overlay"], capture_output=True, check=False)  # podman leaves it


def podman(place: Path, storage: Path, runtime: str, *options: str) -> list[str]:
    """The command before another that starts it in a container with the host's files, so with the same programs.

    What it writes is lost, but for `place`.
    """
    seen = {place: "rw", ROOT: "ro", Path(sys.prefix): "ro", cache_directory().parent: "ro"}
    mounts = [f"--volume={path}:{path}:{how}" for path, how in seen.items()]
    command = ["podman", f"--root={storage}", f"--runroot={storage}/run", "--cgroup-manager=cgroupfs", "run", "--rm"]
    command += [
        f"--runtime={runtime}",
        "--network=none",
        "--ulimit=host",
        f"--workdir={place}",
        *mounts,
        *options,
    ]
    return [*command, "--env=HOME", "--rootfs", "/:O"]


@pytest.mark.parametrize("runtime", ["runc", "crun"])
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_a_container_changes_nothing(tmp_path: Path, storage: Path, runtime: str, options: Sequence[str]) -> None:
    for program in ("podman", runtime):
        if shutil.which(program) is None:
            pytest.skip(f"this machine has no {program}")
    place = tmp_path / "place"
    place.mkdir()
    prefix = podman(place, storage, runtime, *options)
    probe = subprocess.run([*prefix, "true"], capture_output=True, text=True, check=False)
    if probe.returncode != 0:
        pytest.skip(f"{runtime} starts no container here: {probe.stderr.strip()}")
    profile = subprocess.run([*prefix, "cat", "/proc/self/status"], capture_output=True, text=True, check=True)
    assert "\nSeccomp:\t2\n" in profile.stdout, "podman filters system calls"
    outside = run_once(SCENARIO, place / "outside")
    inside = run_once(SCENARIO, place / "inside", prefix=prefix)
    assert {file for file in {*outside, *inside} if outside.get(file) != inside.get(file)} == set()
