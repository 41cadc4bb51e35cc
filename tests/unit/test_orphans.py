"""`netwarp doctor --clean` ends only netwarp's processes."""

import contextlib
import io
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from netwarp.engines.orphans import machines
from netwarp.kernels import cache_directory
from netwarp.steps import doctor
from rich.console import Console

# A shell whose jobs are separate groups, and which ends at once: a program under a filter that allows all, as in a
# container; and another.
SHELL = r"""
set -m
"$PYTHON" -c '
import ctypes, os, sys
libc = ctypes.CDLL(None)
libc.prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
allow = ctypes.create_string_buffer((0x06).to_bytes(4, "little") + (0x7FFF0000).to_bytes(4, "little"))
class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]
program = Program(1, ctypes.addressof(allow))
if libc.prctl(22, 2, ctypes.byref(program), 0, 0) != 0:  # PR_SET_SECCOMP
    sys.exit("no filter")
print(os.getpid(), flush=True)
os.execv(sys.argv[1], ["linux", "300"])
' "$1" &
sh -c 'echo $$; exec sleep 300' &
"""


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"XDG_CACHE_HOME": str(tmp_path / "cache"), "HOME": str(tmp_path), "TMPDIR": str(tmp_path)}


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """The directory of a run."""
    directory = tmp_path / "result" / "runs" / "X"
    directory.mkdir(parents=True)
    (directory / "run.json").write_text("{}")
    return directory


@contextlib.contextmanager
def jobs(program: Path, directory: Path) -> Iterator[list[int]]:
    """A copy of sleep at this place, filtered, and a sleep, in a session whose first process is gone."""
    program.parent.mkdir(parents=True)
    shutil.copy(shutil.which("sleep") or "", program)
    shell = subprocess.Popen(
        ["bash", "-c", SHELL, "bash", program],
        cwd=directory,
        env=os.environ | {"PYTHON": sys.executable},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        text=True,
    )
    assert shell.stdout is not None
    started = [int(shell.stdout.readline()) for _ in range(2)]
    try:
        shell.wait()
        wait_for_program(started, program)
        yield sorted(started, key=lambda pid: (Path(f"/proc/{pid}/exe").readlink() != program, pid))
    finally:
        for pid in started:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        shell.stdout.close()


def wait_for_program(started: list[int], program: Path) -> None:
    deadline = time.monotonic() + 60
    while program not in [Path(f"/proc/{pid}/exe").readlink() for pid in started]:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def test_a_stranger_in_a_run_directory_survives(tmp_path: Path, directory: Path, environ: dict[str, str]) -> None:
    with jobs(tmp_path / "own" / "linux", directory) as (filtered, other):
        assert "\nSeccomp:\t2\n" in Path(f"/proc/{filtered}/status").read_text()
        doctor.clean(environ=environ, console=Console(file=io.StringIO()))
        assert lives(filtered)
        assert lives(other)


@pytest.mark.parametrize("removed", [False, True])
def test_of_a_session_only_the_machine_is_ended(directory: Path, environ: dict[str, str], removed: bool) -> None:
    cache = cache_directory(environ)
    with jobs(cache / "0123" / "linux", directory) as (kernel, other):
        if removed:
            shutil.rmtree(cache)
        assert [[one.pid for one in machine] for machine in machines(cache).values()] == [[kernel]]
        doctor.clean(environ=environ, console=Console(file=io.StringIO()))
        assert not lives(kernel)
        assert lives(other)
