"""All processes of a machine end with its guard, even if its kernel is compromised and the guard is killed."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from e2e_runs import only_run
from e2e_traffic import flow, pair
from netwarp.engines.orphans import machines
from netwarp.kernels import cache_directory
from netwarp.steps import doctor
from netwarp.store.run_status import RunStatus

from bench.kills import send

NETWARP = Path(sys.executable).with_name("netwarp")
PATIENCE_S = 60.0
_STARTED = re.compile(r"^clones: \d+ \d+$", re.MULTILINE)

# Five processes and five of another parent that compute forever: as the host's, which the kernel's own code makes.
CLONES = r"""
#include <linux/module.h>
#include <linux/sched.h>

/* Not in the module's memory for its start, which is used for something else afterwards. */
static noinline long start(long flags)
{
	long pid;

	asm volatile("syscall\n test %%rax, %%rax\n jnz 2f\n 1: pause\n jmp 1b\n 2:\n"
		: "=a"(pid) : "a"(56L), "D"(flags), "S"(0L), "d"(0L) : "rcx", "r11", "memory");
	return pid;
}

static int __init clones_init(void)
{
	int i;

	for (i = 0; i < 5; i++)
		pr_warn("clones: %ld %ld\n", start(SIGCHLD), start(CLONE_PARENT | SIGCHLD));
	return 0;
}

static void __exit clones_exit(void) {}

module_init(clones_init);
module_exit(clones_exit);
MODULE_LICENSE("GPL");
"""


def wait_for(what: str, condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


def in_session(session: int) -> dict[int, str]:
    """The processes of a session that have not ended: their ids and names."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            name, _, rest = (process / "stat").read_text().rpartition(")")
        except OSError:
            continue
        fields = rest.split()
        if int(fields[3]) == session and fields[0] not in "ZX":
            found[int(process.name)] = name.partition("(")[2]
    return found


def naming(directory: Path) -> list[int]:
    """Processes that name a directory or work in it: the run, its guard and keeper, and the machine."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (process / "cmdline").read_bytes()
            if os.fsencode(directory) in words or (process / "cwd").readlink().is_relative_to(directory):
                found.append(int(process.name))
    return found


@pytest.fixture(params=["as the user", "without privileges"])
def prefix(request: pytest.FixtureRequest) -> list[str]:
    """Prefix that starts netwarp: root may make pid namespaces, and others may not."""
    if request.param == "as the user":
        return []
    if os.geteuid() != 0:
        pytest.skip("the other test has none either")
    return ["setpriv", "--bounding-set", "-sys_admin"]


@pytest.fixture
def run(tmp_path: Path, prefix: list[str]) -> "Iterator[subprocess.Popen[bytes]]":
    """A run whose kernel starts processes as no unmodified kernel would, and that then continues for long."""
    with started(tmp_path, prefix, pair(flow("bulk", "bulk"), duration="300s", rate="1gbit")) as run:  # takes minutes
        yield run


@contextlib.contextmanager
def started(tmp_path: Path, prefix: list[str], scenario: str) -> "Iterator[subprocess.Popen[bytes]]":
    """A run with the module beside it; nothing of it is left afterwards."""
    (tmp_path / "clones.c").write_text(CLONES)
    (tmp_path / "s.toml").write_text(f'modules = ["./clones.c"]\n{scenario}')
    (tmp_path / "memory").mkdir()
    run = subprocess.Popen(
        [*prefix, NETWARP, "run", tmp_path / "s.toml", "--no-plots", "-o", tmp_path / "result"],
        env=os.environ | {"TMPDIR": str(tmp_path / "memory")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield run
    finally:
        while left := naming(tmp_path):
            send(left, [signal.SIGKILL])
            run.poll()
            time.sleep(0.02)
        run.wait()


def guard_of(run: "subprocess.Popen[bytes]", tmp_path: Path) -> int:
    """The guard's process, once the machine has started everything."""

    def has_started() -> bool:
        consoles = (tmp_path / "result").rglob("console.log")
        return any(len(_STARTED.findall(console.read_text())) == 5 for console in consoles)

    wait_for("the clones", has_started)
    children = Path(f"/proc/{run.pid}/task").glob("*/children")
    return next(int(pid) for file in children for pid in file.read_text().split())


def keeper_of(guard: int) -> int:
    return min(pid for pid, name in in_session(guard).items() if name == "netwarp-agent" and pid != guard)


def test_it_ends_with_the_guard(run: "subprocess.Popen[bytes]", tmp_path: Path) -> None:
    guard = guard_of(run, tmp_path)
    assert list(in_session(guard).values()).count("linux") >= 11
    os.kill(guard, signal.SIGKILL)
    wait_for("the end of all", lambda: not in_session(guard))
    assert run.wait(PATIENCE_S) != 0
    assert list((tmp_path / "memory").iterdir()) == []


def test_it_ends_with_the_keeper(run: "subprocess.Popen[bytes]", tmp_path: Path) -> None:
    guard = guard_of(run, tmp_path)
    os.kill(keeper_of(guard), signal.SIGKILL)
    wait_for("the end of all", lambda: not in_session(guard))
    assert run.wait(PATIENCE_S) != 0


def test_it_ends_with_all_who_look_after_it(
    run: "subprocess.Popen[bytes]", tmp_path: Path, prefix: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    guard = guard_of(run, tmp_path)
    keeper = keeper_of(guard)
    # Nothing can react before all are dead.
    watching = (run.pid, guard, keeper)
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for pid in watching:
            os.kill(pid, number)
    run.wait()
    wait_for("their end", lambda: not {guard, keeper} & in_session(guard).keys())
    # In a pid namespace the host's kernel ends them; elsewhere some are left, and can be found.
    if os.geteuid() == 0 and not prefix:
        wait_for("the end of all", lambda: not in_session(guard))
    else:
        assert guard in machines(cache_directory())
    monkeypatch.setattr(doctor, "memory_places", lambda environ: [tmp_path / "memory"])
    doctor.clean()
    wait_for("the end of all", lambda: not in_session(guard))
    assert list((tmp_path / "memory").iterdir()) == []


def test_it_ends_with_the_machine(prefix: list[str], tmp_path: Path) -> None:
    """The machine powers off while its clones hold the streams that the guard reads."""
    with started(tmp_path, prefix, pair(flow("bulk", "bulk"), duration="100ms")) as run:
        guard = guard_of(run, tmp_path)
        assert run.wait(PATIENCE_S) == 0
        assert not in_session(guard)
    assert only_run(tmp_path / "result").status()["status"] == RunStatus.OK
