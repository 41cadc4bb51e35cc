"""Runs on the workers of a real Dask scheduler: separate processes, on the loopback."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import psutil
import pytest
from e2e_command import NETWARP, digests, finished, netwarp, succeed, wait_until, write_scenario
from netwarp.engines.tools import find_tools
from netwarp.kernels import find_kernel

DASK = str(Path(sys.executable).parent / "dask")
QUEUES = [f"pfifo limit {limit}" for limit in (20, 30, 40, 50)]
Start = Callable[..., "subprocess.Popen[str]"]


@dataclass
class Cluster:
    """A scheduler and its workers, in a directory."""

    place: Path
    processes: "list[subprocess.Popen[bytes]]" = field(default_factory=list)
    logs: "list[IO[bytes]]" = field(default_factory=list)

    @property
    def file(self) -> Path:
        return self.place / "scheduler.json"

    @property
    def address(self) -> str:
        return str(json.loads(self.file.read_text())["address"])

    def scheduler(self) -> None:
        self._start("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
        wait_until(self.file.exists)

    def worker(self, name: str, *options: str, **environment: str) -> "subprocess.Popen[bytes]":
        """Start a worker and wait until the scheduler knows it."""
        local = self.place / name
        process = self._start(
            "worker",
            *("--name", name, "--nthreads", "1", "--host", "127.0.0.1", "--no-dashboard", "--no-nanny"),
            *("--local-directory", str(local), *options),
            **environment,
        )
        wait_until(lambda: b"Registered to" in (self.place / f"{len(self.processes) - 1}.log").read_bytes())
        return process

    def _start(self, *arguments: str, **environment: str) -> "subprocess.Popen[bytes]":
        log = (self.place / f"{len(self.processes)}.log").open("wb")
        command = [DASK, *arguments, "--scheduler-file", str(self.file)]
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.place, env=os.environ | environment)
        self.processes.append(process)
        self.logs.append(log)
        return process

    def end(self) -> None:
        for process in reversed(self.processes):
            process.kill()
            process.wait()
        for log in self.logs:
            log.close()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Two usable workers."""
    made = Cluster(tmp_path_factory.mktemp("cluster"))
    try:
        made.scheduler()
        made.worker("one")
        made.worker("two")
        yield made
    finally:
        made.end()


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Cluster]:
    """A scheduler without workers, for a test that harms them."""
    place = tmp_path / "cluster"
    place.mkdir()
    made = Cluster(place)
    try:
        made.scheduler()
        yield made
    finally:
        made.end()


def test_the_same_bytes_as_here(cluster: Cluster, tmp_path: Path) -> None:
    scenario = write_scenario(tmp_path / "s.toml", QUEUES)
    captures = ("--set", 'record.captures=[{ at = "bottleneck:r1", snap = 96 }]')
    here, there = tmp_path / "here", tmp_path / "there"
    succeed("run", scenario, "-o", here, "--no-plots", *captures)
    succeed("run", scenario, "-o", there, "--no-plots", "--dask", cluster.address, *captures)
    assert len(digests(here)) == len(QUEUES)
    assert digests(there) == digests(here)
    assert (there / "summary.csv").read_bytes() == (here / "summary.csv").read_bytes()
    names = [sorted(p.relative_to(r).as_posix() for p in r.glob("runs/**/*")) for r in (here, there)]
    assert names[0] == names[1]
    assert any(name.endswith(".pcap") for name in names[0])


@pytest.mark.nightly
def test_a_worker_without_this_kernel_is_named_and_not_used(own: Cluster, tmp_path: Path) -> None:
    own.worker("bare", XDG_CACHE_HOME=str(tmp_path / "empty"))
    scenario = write_scenario(tmp_path / "s.toml")
    alone = netwarp("run", scenario, "-o", tmp_path / "r", "--no-plots", "--dask", own.address)
    assert alone.code == 4
    assert "No worker of the Dask scheduler can execute these runs" in alone.err
    own.worker("fit")
    done = succeed("run", scenario, "-o", tmp_path / "r", "--no-plots", "--dask", own.address)
    told = next(line for line in done.err.splitlines() if "worker bare" in line)
    assert "is not among its kernels (none)" in told
    assert "rsync -a --mkpath" in told
    assert str(tmp_path / "empty" / "netwarp" / "kernels") in told
    assert len(finished(tmp_path / "r")) == 2


def test_a_worker_whose_kernel_was_changed_is_named(own: Cluster, tmp_path: Path) -> None:
    """Its kernel.json has the required digest; its binary has not."""
    kernel = find_kernel()
    copied = tmp_path / "netwarp" / "kernels" / kernel.key
    shutil.copytree(kernel.directory, copied)
    own.worker("changed", XDG_CACHE_HOME=str(tmp_path))
    with (copied / "linux").open("ab") as file:
        file.write(b"x")
    scenario = write_scenario(tmp_path / "s.toml")
    alone = netwarp("run", scenario, "-o", tmp_path / "r", "--no-plots", "--dask", own.address)
    assert alone.code == 4
    told = next(line for line in alone.err.splitlines() if "worker changed" in line)
    assert f"The kernel {copied / 'linux'} is not what was built" in told
    assert "`netwarp kernel build`" in told


@pytest.mark.nightly
def test_a_worker_with_another_agent_is_named(own: Cluster, tmp_path: Path) -> None:
    # Another environment's python and agent: links to these, but for the agent, which has a byte more.
    other = tmp_path / "env" / "bin"
    other.mkdir(parents=True)
    agent = Path(sys.executable).parent / "netwarp-agent"
    (other / "netwarp-agent").write_bytes(agent.read_bytes() + b"\n")
    (other / "netwarp-agent").chmod(0o755)
    code = f"import sys; sys.executable = {str(other / 'python')!r}"
    (tmp_path / "preload.py").write_text(code + "\n")
    own.worker("odd", "--preload", str(tmp_path / "preload.py"))
    done = netwarp("run", write_scenario(tmp_path / "s.toml"), "-o", tmp_path / "r", "--dask", own.address)
    assert done.code == 4
    assert "worker odd" in done.err
    assert "its agent differs from this one; copy this one there: `rsync -a" in done.err


@pytest.mark.nightly
def test_a_worker_with_other_tools_is_named_and_not_used(own: Cluster, tmp_path: Path) -> None:
    """With an iperf3 that has an additional byte, on this worker alone."""
    other = tmp_path / "tools"
    shutil.copytree(find_tools(), other)
    with (other / "programs" / "iperf3").open("ab") as file:
        file.write(b"\n")
    place = f"__import__('pathlib').Path({str(other)!r})"
    code = f"from netwarp.engines import tools\ntools.find_tools = lambda: {place}"
    (tmp_path / "preload.py").write_text(code + "\n")
    own.worker("odd", "--preload", str(tmp_path / "preload.py"))
    scenario, real = write_scenario(tmp_path / "s.toml"), ("--set", "flows.bulk.tool=iperf3")
    alone = netwarp("run", scenario, "-o", tmp_path / "r", "--no-plots", "--dask", own.address, *real)
    assert alone.code == 4
    assert "worker odd" in alone.err
    assert "its netwarp-tools is not the one here; install the same version there" in alone.err
    own.worker("fit")
    succeed("run", scenario, "-o", tmp_path / "r", "--no-plots", "--dask", own.address, *real)
    assert len(finished(tmp_path / "r")) == 2


def test_a_worker_killed_in_a_run_costs_only_a_retry(own: Cluster, tmp_path: Path) -> None:
    doomed = own.worker("doomed")
    scenario, result = write_scenario(tmp_path / "s.toml", QUEUES, "60s"), tmp_path / "r"
    start = [str(NETWARP), "run", str(scenario), "-o", str(result), "--no-plots", "--dask", own.address]
    with subprocess.Popen(start, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as process:
        wait_until(lambda: bool(_machines(doomed.pid)))
        doomed.kill()
        own.worker("other")
        _, told = process.communicate(timeout=200)
    assert process.returncode == 0, told
    assert len(finished(result)) == len(QUEUES)
    status = [json.loads(path.read_text())["status"] for path in result.glob("runs/*/status.json")]
    assert status == ["ok"] * len(QUEUES)
    wait_until(lambda: not _machines(doomed.pid))


def test_the_client_goes_away_and_comes_back(cluster: Cluster, tmp_path: Path, start: Start) -> None:
    scenario, result = write_scenario(tmp_path / "s.toml", QUEUES, "40s"), tmp_path / "r"
    process = start("run", scenario, "-o", result, "--no-plots", "--dask", cluster.address)
    wait_until(lambda: bool(finished(result)))
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    done = finished(result)
    assert 0 < len(done) < len(QUEUES)
    again = succeed("run", scenario, "-o", result, "--no-plots", "--dask", cluster.address)
    assert f"{len(done)} runs were there already" in again.err
    assert len(finished(result)) == len(QUEUES)


def test_ten_thousand_planned_runs_keep_memory_flat(cluster: Cluster, tmp_path: Path, start: Start) -> None:
    scenario, result = write_scenario(tmp_path / "s.toml", duration="1s"), tmp_path / "r"
    process = start("run", scenario, "-o", result, "--no-plots", "--seeds", "5000", "--dask", cluster.address)
    client = psutil.Process(process.pid)
    wait_until(lambda: len(finished(result)) >= 8)
    early = client.memory_info().rss
    wait_until(lambda: len(finished(result)) >= 40)
    late = client.memory_info().rss
    # 32 runs later; if each left its archive (100 kB) or its order (30 kB) behind, it would show.
    assert late - early < 32 * 30_000, f"{early} → {late} bytes"
    os.kill(process.pid, signal.SIGINT)
    assert process.wait(60) == 130
    # The workers are free for the next client.
    succeed("run", scenario, "-o", tmp_path / "next", "--no-plots", "--dask", cluster.address)


def test_no_scheduler(tmp_path: Path) -> None:
    done = netwarp("run", write_scenario(tmp_path / "s.toml"), "-o", tmp_path / "r", "--dask", "tcp://127.0.0.1:9")
    assert done.code == 4
    assert "There is no Dask scheduler at tcp://127.0.0.1:9" in done.err
    odd = netwarp("run", tmp_path / "s.toml", "-o", tmp_path / "r2", "--dask", "nonsense://x")
    assert odd.code == 4
    assert '"nonsense://x" is not the address of a Dask scheduler' in odd.err


def test_without_the_packages_of_a_cluster_the_command_that_installs_them_is_said(tmp_path: Path) -> None:
    program = "import sys; sys.modules['distributed'] = None; from netwarp.cli import main; main()"
    options = ("-o", tmp_path / "r", "--dask", "tcp://127.0.0.1:9")
    scenario = write_scenario(tmp_path / "s.toml")
    command: list[str | Path] = [sys.executable, "-c", program, "run", scenario, *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 4
    assert "Install it: pip install 'netwarp[cluster]'" in " ".join(done.stderr.split())
    assert not (tmp_path / "r").exists()


def _machines(pid: int) -> list[psutil.Process]:
    """The kernels of virtual machines that descend from a process."""
    try:
        return [child for child in psutil.Process(pid).children(recursive=True) if child.name().startswith("linux")]
    except psutil.NoSuchProcess:
        return []
