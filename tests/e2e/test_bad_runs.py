"""Failures during a run: the kernel refuses, room runs out, processes are killed. Clear messages, nothing left."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
from pathlib import Path

import pytest
from e2e_command import (
    NETWARP,
    Answer,
    environment,
    netwarp,
    processes_in,
    start,
    wait_for,
    wait_until,
    wait_until_gone,
)
from e2e_runs import only_run
from e2e_scenarios import dumbbell
from netwarp.kernels import cache_directory
from netwarp.store.run_status import RunStatus

SHORT = dumbbell(duration="1s")
LONG = dumbbell(duration="20000s")
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk")


@pytest.fixture
def result(tmp_path: Path) -> Path:
    return tmp_path / "result"


def _write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "scenario.toml"
    path.write_text(text)
    return path


def _failed(answer: Answer, result: Path, words: list[str]) -> None:
    """Exit code 3, the reason printed once and kept beside the run, no traceback."""
    assert answer.code == 3, answer.err
    assert "Traceback" not in answer.err
    status = only_run(result).status()
    assert status["status"] == RunStatus.FAILED
    for word in words:
        assert word in answer.words, answer.err
        assert word in " ".join(str(status["reason"]).split())
    assert answer.words.count(words[0]) == 1, answer.err


def _run(tmp_path: Path, text: str, result: Path, *arguments: str) -> Answer:
    return netwarp("run", _write(tmp_path, text), "--no-plots", "-o", result, *arguments)


@pytest.mark.parametrize(
    ("queue", "words"),
    [
        ("pfifo limmit 3", ["tc refused `qdisc add dev eth1", 'unknown parameter "limmit"']),
        ("red limit 1000 min 200 max 600 avpkt 1000 burst 20 probability 0.02", ["tc refused", "EWMA"]),
    ],
)
def test_a_queue_that_tc_refuses(tmp_path: Path, result: Path, queue: str, words: list[str]) -> None:
    _failed(_run(tmp_path, dumbbell(queue=queue), result), result, words)


def test_a_congestion_control_that_the_kernel_lacks(tmp_path: Path, result: Path) -> None:
    """Refused before anything starts, as is a queueing discipline; tests/e2e/test_engines.py has the latter."""
    answer = _run(tmp_path, SHORT, result, "--set", 'flows.bulk.cc="cubik"')
    assert answer.code == 2
    for word in ('"cubik"', "flows.bulk.cc", "cubic", "bbr", "reno"):
        assert word in answer.words
    assert not result.exists()


def test_a_sysctl_that_the_kernel_lacks(tmp_path: Path, result: Path) -> None:
    answer = _run(tmp_path, SHORT, result, "--set", 'nodes.h1.sysctl={"net.ipv4.nosuch"=1}')
    _failed(answer, result, ["net.ipv4.nosuch", "node h1"])


def test_a_run_that_takes_too_long(tmp_path: Path, result: Path) -> None:
    answer = _run(tmp_path, LONG, result, "--set", "run.time_limit=500ms")
    _failed(answer, result, ["time_limit", "within 0.5 s"])
    assert processes_in(result) == []


def test_a_kernel_that_panics(tmp_path: Path, result: Path) -> None:
    """64 MB cannot hold the packets in flight at 10 Gbit/s and 400 ms."""
    text = dumbbell(rate="10gbit", access="10gbit", delay="200ms", queue="pfifo limit 1000000", exact=False)
    answer = _run(tmp_path, text, result, "--set", "run.memory=64M")
    _failed(answer, result, ["Kernel panic", "memory"])
    assert "panic" in (only_run(result).path / "console.log").read_text()
    assert processes_in(result) == []


def test_no_kernel(tmp_path: Path, result: Path) -> None:
    answer = netwarp("run", "bufferbloat", "-o", result, env={"XDG_CACHE_HOME": str(tmp_path / "empty")})
    assert answer.code == 4
    assert "netwarp kernel build" in answer.words
    assert "Traceback" not in answer.err
    assert not result.exists()


def test_an_output_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file", tmp_path / "file" / "below", Path("/proc/nosuch")):
        answer = netwarp("run", "bufferbloat", "--no-plots", "-o", place)
        assert answer.code == 4, answer.err
        assert str(place) in answer.words
        assert "Traceback" not in answer.err


def test_an_output_that_is_something_else(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("precious")
    answer = netwarp("run", "bufferbloat", "--no-plots", "-o", tmp_path)
    assert answer.code == 2
    assert "thesis.tex" in answer.words
    assert [path.name for path in tmp_path.iterdir() if not path.name.startswith(".")] == ["thesis.tex"]


def _with_small_disks(commands: str) -> Answer:
    """Run commands in a separate mount namespace, where mounting changes nothing for others."""
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-ec", commands],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    return Answer(done.returncode, done.stdout, done.stderr)


@AS_ROOT
@pytest.mark.parametrize("size", ["8k", "100k", "700k"])
def test_a_full_disk(tmp_path: Path, size: str) -> None:
    """The records of 60 s are 1.5 MB."""
    disk, scenario = tmp_path / "disk", _write(tmp_path, dumbbell(duration="60s"))
    disk.mkdir()
    command = shlex.join([str(NETWARP), "run", str(scenario), "--no-plots", "-o", str(disk / "result")])
    answer = _with_small_disks(
        f"mount -t tmpfs -o size={size} tmpfs {shlex.quote(str(disk))}\n"
        f"{command} || code=$?\n"
        f"find {shlex.quote(str(disk))} -name '*.part' -o -path '*/runs/*'\n"
        "exit $code"
    )
    assert answer.code in {3, 4}, answer.err
    assert "the disk is full" in answer.words or "No space left on device" in answer.words
    assert "Traceback" not in answer.err
    assert ".part" not in answer.out


@AS_ROOT
def test_room_on_the_disk_and_the_same_command_suffice(tmp_path: Path) -> None:
    disk, scenario = tmp_path / "disk", _write(tmp_path, dumbbell(duration="60s"))
    disk.mkdir()
    place = shlex.quote(str(disk))
    command = shlex.join([str(NETWARP), "run", str(scenario), "--no-plots", "-o", str(disk / "result")])
    answer = _with_small_disks(
        f"mount -t tmpfs -o size=700k tmpfs {place}\n"
        f"{command} && exit 9\n"
        f"mount -o remount,size=200m {place}\n"
        f"{command}\n"
        f"cat {place}/result/runs/*/status.json"
    )
    assert answer.code == 0, answer.err
    assert '"status": "ok"' in answer.out


def test_a_machine_that_stands_still_ends(tmp_path: Path, result: Path) -> None:
    """Its kernel's process is stopped: it uses no processor, although one is available."""
    scenario = _write(tmp_path, LONG)
    process = start("run", scenario, "--no-plots", "-o", result, "--set", "run.time_limit=3s")
    wait_until(lambda: _kernels_in(result))
    for pid in _kernels_in(result):
        os.kill(pid, signal.SIGSTOP)
    process.communicate(timeout=300)
    assert process.returncode == 3
    assert "time_limit" in str(only_run(result).status()["reason"])
    assert processes_in(result) == []


def _kernels_in(result: Path) -> list[int]:
    """Processes of machines of this result, except guards."""
    found = [(pid, Path(f"/proc/{pid}/cmdline")) for pid in processes_in(result)]
    return [pid for pid, line in found if line.exists() and b"time-travel" in line.read_bytes()]


def _covered(places: list[str], kept: list[Path]) -> str:
    """Shell commands that mount a disk of 16 MB over each place; kept paths stay visible even below one."""
    lines = ["mount -t tmpfs tmpfs /mnt"]
    below = [path for path in kept if any(path.is_relative_to(place) for place in places)]
    for number, path in enumerate(below):
        lines.append(f"mkdir /mnt/{number}; mount --bind {shlex.quote(str(path))} /mnt/{number}")
    lines += [f"mount -t tmpfs -o size=16m tmpfs {place}" for place in places]
    for number, path in enumerate(below):
        quoted = shlex.quote(str(path))
        lines.append(f"mkdir -p {quoted}; mount --bind /mnt/{number} {quoted}")
    return "\n".join(lines)


@AS_ROOT
def test_no_room_for_the_memory_file() -> None:
    """16 MB in every place that could hold the memory of the machine."""
    command = shlex.join([str(NETWARP), "run", "bufferbloat", "--no-plots", "-o", "/tmp/result"])
    kept = [Path(__file__).parents[2], cache_directory()]
    answer = _with_small_disks(
        f"unset TMPDIR\n{_covered(['/dev/shm', '/tmp'], kept)}\n"
        f"{command} || code=$?\n[ ! -e /tmp/result ] || ls -A /tmp/result\nexit $code"
    )
    assert answer.code == 4, answer.err
    assert "memory file" in answer.words
    assert "netwarp doctor" in answer.words
    assert answer.out == ""


def test_a_small_tmpdir_is_passed_over(tmp_path: Path, result: Path) -> None:
    scenario = _write(tmp_path, SHORT)
    answer = netwarp("run", scenario, "--no-plots", "-o", result, env={"TMPDIR": str(tmp_path / "nosuch")})
    assert answer.code == 0, answer.err


def _begun(result: Path) -> Path:
    """Wait until the run of a result has begun; return its temporary directory."""
    return wait_for(result, "runs/*/packets.arrows").parent


def _guard_of(directory: Path) -> int:
    """The guard of the run in this directory."""
    for process in processes_in(directory):
        if b"\0guard\0" in (Path("/proc") / str(process) / "cmdline").read_bytes():
            return process
    raise AssertionError("no guard")


def test_killing_the_guard_fails_the_run(tmp_path: Path, result: Path) -> None:
    with start("run", _write(tmp_path, LONG), "--no-plots", "-o", result) as command:
        os.kill(_guard_of(_begun(result)), signal.SIGKILL)
        out, err = command.communicate(timeout=60)
    assert wait_until_gone(result, 2) == []
    _failed(Answer(command.returncode, out, err), result, ["SIGKILL"])


def test_killing_netwarp_leaves_no_process(tmp_path: Path, result: Path) -> None:
    with start("run", _write(tmp_path, LONG), "--no-plots", "-o", result) as command:
        _begun(result)
        assert len(processes_in(result)) >= 3
        command.kill()
        command.communicate()
    assert wait_until_gone(result, 2) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_it_and_keeps_nothing_half_made(tmp_path: Path, result: Path, number: signal.Signals) -> None:
    with start("run", _write(tmp_path, LONG), "--no-plots", "-o", result) as command:
        _begun(result)
        command.send_signal(number)
        _, err = command.communicate(timeout=60)
    assert command.returncode == 130
    assert "Traceback" not in err
    assert wait_until_gone(result, 2) == []
    assert list((result / "runs").iterdir()) == []
