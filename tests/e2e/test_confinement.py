"""A scenario may be someone else's code: its programs are root in the guest, and must not escape from it."""

from __future__ import annotations

import errno
import os
import re
import shutil
import socket
import stat
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from e2e_command import Answer, digests, netwarp
from e2e_runs import only_run
from e2e_traffic import flow, pair
from netwarp.kernels import find_kernel

NOBODY = 65534
SECRET = "a private key\n"

# Attempts of the programs of a hostile scenario, one line each: the name, and the command.
ATTEMPTS = """
read a file of the home directory|cat {home}/.ssh/id_rsa
list the home directory|ls {home}
write into the home directory|echo x > {home}/new
remount the root|mount -o remount,rw /
write after the remount|echo x > {home}/new
append after the remount|echo x >> {home}/.ssh/id_rsa
mount the home directory|mkdir -p /run/h && mount -t hostfs -o {home} none /run/h
mount all of the host|mkdir -p /run/r && mount -t hostfs none /run/r
mount it by the run directory|mkdir -p /run/d && mount -t hostfs -o /proc/self/cwd/../../.. none /run/d
read there|cat /run/h/.ssh/id_rsa || cat /run/r/{home}/.ssh/id_rsa
write there|test -e /run/h/.ssh && echo x > /run/h/new || test -e /run/r/{home} && echo x > /run/r/{home}/new
cut there|truncate -s 0 /run/h/.ssh/id_rsa
permit there|test -e /run/h/.ssh && chmod 777 /run/h/.ssh/id_rsa
date there|test -e /run/h/.ssh && touch -d 2001-01-01 /run/h/.ssh/id_rsa
move there|mv /run/h/.ssh /run/h/ssh
remove there|rm /run/h/.ssh/id_rsa
plant a link|ln -s {home}/.ssh/id_rsa /run/netwarp/planted
plant a link for the outcome|ln -sf {home}/.ssh/id_rsa /run/netwarp/outcome.json
plant a link for the console|rm -f /run/netwarp/console.log; ln -s {home}/new /run/netwarp/console.log
plant a hard link|ln /run/netwarp/run.json /run/netwarp/hard
plant a pipe|mkfifo /run/netwarp/pipe
plant a device|mknod /run/netwarp/zero c 1 5
leave the run directory|echo x > /run/netwarp/../../{home}/new || echo x > /run/netwarp/../../new
read what others left in /tmp|cat {beside}
read the password hashes|cat /etc/shadow
read a host key|cat /etc/ssh/ssh_host_*_key
connect to the host|exec 3<>/dev/tcp/127.0.0.1/{port}
write into shared memory|echo x > /dev/shm/new
"""
IN_MEMORY = {
    "write into the home directory",
    "remount the root",
    "write after the remount",
    "leave the run directory",
    "write into shared memory",
}
"""Attempts that work within the machine, in a layer that is discarded; the host is checked for their effects."""


# Attempts in namespaces of the host itself, without a machine in between.
ATTEMPTS_IN_REAL_TIME = """
read a file of the home directory|cat {home}/.ssh/id_rsa
list the home directory|ls {home}
write into the home directory|echo x > {home}/new
make the files of the host writable|mount -o remount,bind,rw /
write after that|echo x > {home}/new || echo x > {home}/.ssh/id_rsa
mount the home directory|mkdir -p /run/h && mount --bind {home} /run/h
read there|cat /run/h/.ssh/id_rsa
write by new namespaces|unshare -rm sh -c 'mount -o remount,bind,rw / && echo x > {home}/new'
read by the first process of the run|cat /proc/1/root/{home}/.ssh/id_rsa
read the environment of that process|grep -az . /proc/1/environ
read what its user has in the environment|test -n "$A_SECRET"
read what others left in /tmp|cat {beside}
read the password hashes|cat /etc/shadow
read a host key|cat /etc/ssh/ssh_host_*_key
write into the log of the kernel|echo "a test of netwarp" > /dev/kmsg
press a key of the kernel|echo h > /proc/sysrq-trigger
open a terminal of the host|exec 3<>/dev/ptmx
set a sysctl of the host|echo 7 > /proc/sys/kernel/printk
connect to the host|exec 3<>/dev/tcp/127.0.0.1/{port}
connect to the hypervisor|python3 -c 'import socket; socket.socket(socket.AF_VSOCK)'
write into shared memory|echo x > /dev/shm/new
write beside the scenario|echo x > {home}/../study/new
write where it was started|echo x > new && ln -s new link && cat link
write into the run directory|echo x > /run/netwarp/new
read the directory of the scenario|cat {home}/../study/hostile.toml
set a sysctl of its node|echo 1 > /proc/sys/net/ipv4/ip_forward
read statistics of its node|cat /proc/net/snmp /sys/class/net/*/mtu
start programs|python3 -c 'import socket, subprocess; subprocess.run(["ss", "-ti"], check=True)'
make an interface|ip link add v8 type veth peer name v9
listen|python3 -c 'import socket; socket.create_server(("", 7777))'
"""
OWN_IN_REAL_TIME = {
    "write where it was started",
    "write into the run directory",
    "read the directory of the scenario",
    "set a sysctl of its node",
    "read statistics of its node",
    "start programs",
    "make an interface",
    "listen",
}


@dataclass(frozen=True)
class Host:
    """A user with a home directory, and how to run netwarp as that user."""

    place: Path
    prefix: Sequence[str]
    env: dict[str, str]

    @property
    def home(self) -> Path:
        """A directory where nothing may be read or written."""
        return self.place / "home"

    def run(self, *arguments: str | Path) -> Answer:
        """`netwarp` as this user."""
        return netwarp(*arguments, prefix=self.prefix, env=self.env)


@pytest.fixture(params=["own", "nobody"])
def host(request: pytest.FixtureRequest) -> Iterator[Host]:
    """The user of these tests (root, if they run as root), and an ordinary one."""
    with tempfile.TemporaryDirectory(prefix="netwarp-host-") as name:
        place = Path(name)
        (place / "home/.ssh").mkdir(parents=True)
        (place / "home/.ssh/id_rsa").write_text(SECRET)
        (place / "study").mkdir()
        (place / "beside").write_text("not the run's\n")
        env = {"HOME": str(place / "home"), "A_SECRET": SECRET}
        prefix: list[str] = []
        if request.param == "nobody":
            if os.geteuid() != 0:
                pytest.skip("only root can be someone else; the other test is one as an ordinary user")
            kernel = find_kernel()
            shutil.copytree(kernel.directory, place / "cache/netwarp/kernels" / kernel.directory.name)
            prefix = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--no-new-privs"]
            env["XDG_CACHE_HOME"] = str(place / "cache")
            for path in (place, *place.rglob("*")):
                os.chown(path, NOBODY, NOBODY)
        else:
            env["XDG_CACHE_HOME"] = os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache"))
        yield Host(place, prefix, env)


def hostile(host: Host, port: int, attempts: str = ATTEMPTS, *, delay: str = "5ms", duration: str = "3s") -> Path:
    """A scenario that makes every attempt and prints the outcomes."""
    lines = ["#!/bin/sh"]
    for attempt in attempts.strip().splitlines():
        what, command = attempt.format(home=host.home, beside=host.place / "beside", port=port).split("|", 1)
        lines.append(f"( {command} ) >/dev/null 2>&1 && echo 'out: {what}' || echo 'in: {what}'")
    script = host.place / "study/attempts.sh"
    script.write_text("\n".join([*lines, ""]))
    text = flow("hostile", "command", f'client = ["bash", "{script}"]')
    scenario = host.place / "study/hostile.toml"
    scenario.write_text(pair(text, duration=duration, delay=delay))
    return scenario


def test_what_a_scenario_runs_comes_out_of_nothing(host: Host) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        before = [(path, path.lstat()) for path in sorted(host.home.rglob("*"))]
        shared = set(Path("/dev/shm").iterdir())
        answer = host.run(
            "run", hostile(host, server.getsockname()[1]), "--no-plots", "-o", host.place / "study/result"
        )
    run = only_run(host.place / "study/result")
    told = (run.path / "hostile-client.out").read_text().splitlines()
    assert len(told) == len(ATTEMPTS.strip().splitlines())
    assert {line.removeprefix("out: ") for line in told if not line.startswith("in: ")} == IN_MEMORY
    assert not Path("/new").exists()
    assert (answer.code, run.status()["status"]) == (0, "ok"), answer.err
    assert (host.home / ".ssh/id_rsa").read_text() == SECRET
    assert [(path, found.st_mode, found.st_mtime_ns) for path, found in before] == [
        (path, path.lstat().st_mode, path.lstat().st_mtime_ns) for path in sorted(host.home.rglob("*"))
    ]
    kinds = {stat.S_IFMT(path.lstat().st_mode) for path in (host.place / "study/result").rglob("*")}
    assert kinds == {stat.S_IFREG, stat.S_IFDIR}
    # Memory files of other tests' runs are there, too; this one's must be gone.
    new = set(Path("/dev/shm").iterdir()) - shared
    assert [path for path in new if not path.name.startswith("netwarp-memory")] == []


# A module, and so a kernel, that requests more of the host than a machine is given.
GREEDY = r"""
#include <linux/module.h>

static long ask(long number, long a, long b, long c, long d, long e)
{
	register long r10 asm("r10") = d;
	register long r8 asm("r8") = e;
	register long r9 asm("r9") = 0;
	long answer;

	asm volatile("syscall" : "=a"(answer) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
		: "rcx", "r11", "memory");
	return answer;
}

static long unlimited[2] = { -1, -1 };

static int __init greedy_init(void)
{
	long file = ask(2, (long)"greedy", 0102, 0644, 0, 0);	/* open(O_CREAT | O_RDWR) */

	pr_warn("greedy: a file %d\n", file >= 0);
	pr_warn("greedy: 1 GB of it %ld\n", ask(77, file, 1L << 30, 0, 0, 0));	/* ftruncate() */
	pr_warn("greedy: 64 GB of it %ld\n", ask(77, file, 64L << 30, 0, 0, 0));
	pr_warn("greedy: a lease %ld\n", ask(72, file, 1024, 1, 0, 0));	/* fcntl(F_SETLEASE, F_WRLCK) */
	pr_warn("greedy: a lock %ld\n", ask(73, file, 2, 0, 0, 0));	/* flock(LOCK_EX) */
	pr_warn("greedy: memory %d\n", ask(9, 0, 1L << 20, 3, 0x22, -1) > 0);	/* mmap(MAP_PRIVATE | MAP_ANONYMOUS) */
	pr_warn("greedy: 8 GB of memory %ld\n", ask(9, 0, 8L << 30, 3, 0x4022, -1));
	pr_warn("greedy: shared memory %ld\n", ask(9, 0, 8L << 30, 3, 0x4021, -1));
	pr_warn("greedy: no limits %ld\n", ask(302, 0, 2, (long)unlimited, 0, 0));	/* prlimit64(RLIMIT_DATA) */
	ask(87, (long)"greedy", 0, 0, 0, 0);	/* unlink() */
	return 0;
}

static void __exit greedy_exit(void) {}

module_init(greedy_init);
module_exit(greedy_exit);
MODULE_LICENSE("GPL");
"""
GIVEN = {
    "a file": 1,
    "1 GB of it": 0,
    "64 GB of it": -errno.EFBIG,
    "a lease": -errno.EPERM,
    "a lock": -errno.EPERM,
    "memory": 1,
    "8 GB of memory": -errno.ENOMEM,
    "shared memory": -errno.EPERM,
    "no limits": -errno.EPERM,
}


def test_a_kernel_that_was_taken_over_gets_no_more_than_its_limits(tmp_path: Path) -> None:
    (tmp_path / "greedy.c").write_text(GREEDY)
    (tmp_path / "s.toml").write_text('modules = ["./greedy.c"]\n' + pair(flow("bulk", "bulk"), duration="1s"))
    answer = netwarp("run", tmp_path / "s.toml", "--no-plots", "-o", tmp_path / "result")
    console = (only_run(tmp_path / "result").path / "console.log").read_text()
    said = re.findall(r"greedy: (.*) (-?\d+)$", console, re.MULTILINE)
    assert {what: int(result) for what, result in said} == GIVEN, answer.err


def test_in_real_time_it_reads_and_writes_what_it_does_in_virtual_time(host: Host) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        before = [(path, path.lstat()) for path in sorted(host.home.rglob("*"))]
        port = server.getsockname()[1]
        # In 3 s a busy machine starts 19 of the 30.
        scenario = hostile(host, port, ATTEMPTS_IN_REAL_TIME, delay="0ms", duration="10s")
        result = host.place / "study/result"
        answer = host.run("run", scenario, "--engine", "host", "--no-plots", "-o", result)
    run = only_run(result)
    out = (run.path / "hostile-client.out").read_text().splitlines()
    assert len(out) == len(ATTEMPTS_IN_REAL_TIME.strip().splitlines()), answer.err
    assert {line.removeprefix("out: ") for line in out if not line.startswith("in: ")} == OWN_IN_REAL_TIME
    status = run.status()
    assert status["status"] in ("ok", "suspect"), "tests share their machine, which may have disturbed the run"
    assert status["confinement"]["landlock"] >= 6
    assert (host.home / ".ssh/id_rsa").read_text() == SECRET
    assert [(path, found.st_mode, found.st_mtime_ns) for path, found in before] == [
        (path, path.lstat().st_mode, path.lstat().st_mtime_ns) for path in sorted(host.home.rglob("*"))
    ]
    assert not (host.place / "study/new").exists()
    assert not Path("/dev/shm/new").exists()


@pytest.mark.parametrize("engine", ["uml", "host"])
def test_in_every_engine_a_scenario_names_what_it_needs(tmp_path: Path, engine: str) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data/words").write_text("hello\n")
    (tmp_path / "study").mkdir()
    scenario = tmp_path / "study/s.toml"
    command = f'client = ["sh", "-c", "cat {tmp_path}/data/words || true"]'
    scenario.write_text(pair(flow("say", "command", command), duration="1s", delay="0ms"))
    for granted, out in (((), ""), (("--read", tmp_path / "data"), "hello\n")):
        result = tmp_path / f"study/{len(granted)}"
        answer = netwarp("run", scenario, "--engine", engine, "-o", result, "--no-plots", *granted)
        assert (only_run(result).path / "say-client.out").read_text() == out, answer.err


def says(host: Host, folder: Path, words: str, run: str = "") -> Path:
    """A scenario in `folder` with a command of these words."""
    path = folder / "says.toml"
    path.write_text(
        pair(flow("say", "command", f"client = [{words}]"), duration="1s").replace("[run]", f"[run]\n{run}")
    )
    return path


def test_a_scenario_names_what_it_needs_and_its_user_allows_it(host: Host) -> None:
    (host.place / "data").mkdir()
    (host.place / "data/words").write_text("hello\n")
    words = f'"cat", "{host.place}/data/words"'
    scenario = says(host, host.place / "study", words, f'read = ["{host.place}/data"]')
    refused = host.run("run", scenario, "-o", host.place / "study/no")
    assert refused.code == 2 and f"--read {host.place}/data" in refused.words, refused.err
    assert not (host.place / "study/no").exists()
    result = host.place / "study/yes"
    allowed = host.run("run", scenario, "--read", host.place / "data", "-o", result)
    assert allowed.code == 0, allowed.err
    assert (only_run(result).path / "say-client.out").read_text() == "hello\n"
    # The user who repeats it is asked again.
    assert host.run("rerun", result).code == 2
    again = host.run("rerun", result, "--read", host.place / "data")
    assert again.code == 0, again.err
    # The permission to read does not affect bytes.
    same = host.run(
        "run", says(host, host.place / "study", words), "--read", host.place, "-o", host.place / "study/same"
    )
    assert same.code == 0, same.err
    assert digests(host.place / "study/same") == digests(result)


def test_a_scenario_that_lies_in_the_home_directory_reads_nothing_of_it(host: Host) -> None:
    (host.home / "words").write_text("hello\n")
    answer = host.run("run", says(host, host.home, f'"cat", "{host.home}/words"'), "-o", host.place / "study/home")
    assert answer.code == 2 and f"--read {host.home}/words" in answer.words
    tricky = host.run(
        "run", says(host, host.home, f'"sh", "-c", "cat {host.home}/words || true"'), "-o", host.place / "study/t"
    )
    assert tricky.code == 0, tricky.err
    run = only_run(host.place / "study/t").path
    assert ((run / "say-client.out").read_text(), "Permission denied" in (run / "say-client.err").read_text()) == (
        "",
        True,
    )


@pytest.mark.parametrize("odd", ["/proc/kmsg", "/dev/zero", "pipe", "empty", "sparse"])
@pytest.mark.parametrize("use", ["scenario", "trace", "program", "word", "read"])
def test_files_that_never_end_or_begin_hang_nothing(tmp_path: Path, odd: str, use: str) -> None:
    path = Path(odd) if odd.startswith("/") else tmp_path / odd
    if odd == "pipe":
        os.mkfifo(path, 0o777)
    elif not odd.startswith("/"):
        path.touch(0o777)
        os.truncate(path, 1 << 43 if odd == "sparse" else 0)
    elif not path.exists():
        pytest.skip(f"this host has no {path}")
    scenario = tmp_path / "odd.toml"
    command = f'client = ["{path}"]' if use == "program" else f'client = ["true", "{path}"]'
    text = pair(flow("odd", "command", command), duration="1s")
    if use == "trace":
        text = text.replace('rate = "10mbit"', f'trace = "{path}"')
    elif use == "read":
        text = pair("", duration="1s").replace("[run]", f'[run]\nread = ["{path}"]')
    scenario.write_text(text)
    what = path if use == "scenario" else scenario
    answer = netwarp("run", what, "--no-plots", "-o", tmp_path / "result")
    assert "Traceback" not in answer.err
    if use in ("scenario", "trace") or odd == "sparse":
        assert answer.code == 2, answer.err


WITHOUT = """
import ctypes, os, struct, sys
# landlock_create_ruleset(2) and its two sisters fail with ENOSYS, as on an old kernel.
code = [(0x20, 0, 0, 0), (0x35, 0, 2, 444), (0x25, 1, 0, 446), (0x06, 0, 0, 0x50026), (0x06, 0, 0, 0x7FFF0000)]
text = b"".join(struct.pack("HBBI", *line) for line in code)
program = struct.pack("HxxxxxxP", len(code), ctypes.cast(ctypes.create_string_buffer(text), ctypes.c_void_p).value)
libc = ctypes.CDLL(None, use_errno=True)
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, program, 0, 0):
    sys.exit(os.strerror(ctypes.get_errno()))
os.execv(sys.argv[1], sys.argv[1:])
"""
"""Runs a command on a host without Landlock."""


def test_in_real_time_it_is_said_that_there_is_no_landlock(tmp_path: Path) -> None:
    scenario = tmp_path / "s.toml"
    scenario.write_text(
        pair(flow("say", "command", 'client = ["sh", "-c", "cat /etc/shadow; true"]'), duration="1s", delay="0ms")
    )
    answers = [
        netwarp("run", scenario, "--engine", "host", "-o", tmp_path / place, "--no-plots", prefix=before)
        for place, before in (("with", ()), ("without", [sys.executable, "-c", WITHOUT]))
    ]
    assert ["no Landlock" in answer.words for answer in answers] == [False, True]
    runs = [only_run(tmp_path / place) for place in ("with", "without")]
    levels = [run.status()["confinement"]["landlock"] for run in runs]
    assert levels[0] >= 6 and levels[1] == 0
    assert (runs[0].path / "say-client.out").read_text() == ""


def test_without_landlock_the_bytes_are_the_same_and_it_is_said(tmp_path: Path) -> None:
    scenario = tmp_path / "s.toml"
    scenario.write_text(pair(flow("bulk", "bulk") + flow("say", "command", 'client = ["python3", "-c", "print(1)"]')))
    prefix = [sys.executable, "-c", WITHOUT]
    answers = [
        netwarp("run", scenario, "-o", tmp_path / place, prefix=before)
        for place, before in (("with", ()), ("without", prefix))
    ]
    assert [answer.code for answer in answers] == [0, 0], answers
    assert ["no Landlock" in answer.words for answer in answers] == [False, True]
    assert digests(tmp_path / "with") == digests(tmp_path / "without")
    levels = [only_run(tmp_path / place).status()["confinement"]["landlock"] for place in ("with", "without")]
    assert levels[0] >= 6 and levels[1] == 0
    assert "✗ confinement: This host has no Landlock" in netwarp("doctor", prefix=prefix).out
