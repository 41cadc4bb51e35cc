"""The command's run time."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl
from netwarp.store.result import open_result
from netwarp.store.rundir import RunDir

NETWARP = Path(sys.executable).parent / "netwarp"
BOTTLENECK = 13
"""Index of the interface whose packets are counted: r1's into the bottleneck."""


@dataclass(frozen=True)
class Timed:
    """A finished command: the real seconds it took, and its result directory."""

    seconds: float
    result: Path

    @property
    def runs(self) -> list[RunDir]:
        """The command's runs, in the order of the plan."""
        opened = open_result(self.result)
        return [opened.run(planned.id) for planned in opened.planned]

    @property
    def engine_s(self) -> float:
        """Real seconds from boot to power-off of its first run."""
        return _seconds(self.runs[0].status()["real_s"])

    @property
    def cpu_s(self) -> float:
        """CPU seconds of the same, which hardly change on a busy machine."""
        return _seconds(self.runs[0].status()["cpu_s"])

    @property
    def guard_cpu_s(self) -> float:
        """CPU seconds of the process that makes tables of its records."""
        return _seconds(self.runs[0].status()["guard_cpu_s"])

    @property
    def packets(self) -> int:
        """Packets that its first run's bottleneck sent."""
        table = self.runs[0].scan("links").filter(pl.col("interface_index") == BOTTLENECK)
        return int(table.select(pl.col("tx_packets").max()).collect().item())


def timed(scenario: str, place: Path, *arguments: str) -> Timed:
    """Run a scenario's text in a fresh directory and take the real time. Raises RuntimeError if it fails."""
    place.mkdir(parents=True)
    file = place / "scenario.toml"
    file.write_text(scenario)
    seconds = clocked("run", str(file), "-o", str(place / "result"), *arguments)
    return Timed(seconds, place / "result")


def clocked(*arguments: str, codes: Sequence[int] = (0,)) -> float:
    """Real seconds of a whole command. Raises RuntimeError if its exit code is not one of these."""
    begin = time.perf_counter()
    done = subprocess.run(
        [str(NETWARP), *arguments], capture_output=True, text=True, check=False, env=as_installed(os.environ)
    )
    seconds = time.perf_counter() - begin
    if done.returncode not in codes:
        raise RuntimeError(done.stderr.strip())
    return seconds


def as_installed(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment for netwarp with its compiled modules kept, as an installer keeps them.

    Where Python was told not to (PYTHONDONTWRITEBYTECODE), every command would compile all of netwarp, which takes as
    long as a short run.
    """
    return {name: value for name, value in environment.items() if name != "PYTHONDONTWRITEBYTECODE"}


@dataclass(frozen=True)
class Used:
    """The use of a command: CPU seconds of it and of all that it started, and the most memory of one of these."""

    cpu_s: float
    peak_mb: float


def used(*arguments: str, codes: Sequence[int] = (0,)) -> Used:
    """Run a command and take what it used. Raises RuntimeError if its exit code is not one of these."""
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            [str(NETWARP), *arguments], stdout=subprocess.DEVNULL, stderr=said, env=as_installed(os.environ)
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in codes:
            said.seek(0)
            raise RuntimeError(said.read().decode(errors="replace").strip())
    return Used(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def peak_mb(*arguments: str) -> float:
    """The most memory in MB of a whole command, or of a process that it started. Raises RuntimeError if it fails."""
    return used(*arguments).peak_mb


def machine_peak_mb(scenario: str, place: Path) -> float:
    """The most memory in MB of the virtual machine that runs a scenario's text. Raises RuntimeError if it fails.

    The kernel keeps the peak of a process only as long as this lives, so that the last milliseconds may be missing.
    """
    place.mkdir(parents=True)
    (place / "scenario.toml").write_text(scenario)
    command = ("run", str(place / "scenario.toml"), "-o", str(place / "result"), "--no-plots")
    with subprocess.Popen(
        [str(NETWARP), *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=as_installed(os.environ)
    ) as process:
        peak_kb = 0
        while process.poll() is None:
            peak_kb = max([peak_kb, *(_peak_kb(pid) for pid in _machines_of(place))])
            time.sleep(0.002)
    if process.returncode:
        raise RuntimeError(f"netwarp {' '.join(command)}: exit code {process.returncode}")
    return peak_kb / 1024


def _machines_of(place: Path) -> list[int]:
    """The processes of kernels that run a result in this place: their working directory is that of their run."""
    found = []
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            if (directory / "comm").read_text() == "linux\n" and (directory / "cwd").readlink().is_relative_to(place):
                found.append(int(directory.name))
        except OSError:
            continue
    return found


def _peak_kb(pid: int) -> int:
    """The most memory of a process until now; 0 if it has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("VmHWM:")), 0)


def children_cpu_s() -> float:
    """CPU seconds of the commands that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _seconds(value: float | None) -> float:
    assert value is not None
    return float(value)
