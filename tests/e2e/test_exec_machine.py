"""Any command in its own machine: its output and changes, its environment, its end."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from e2e_command import Answer, digests, finished, netwarp, start, wait_until_gone
from e2e_runs import only_run
from netwarp.kernels import find_kernel

NOBODY = 65534
ODD = "out=$(cat /proc/sys/kernel/random/uuid); echo $out $RANDOM $(date +%N) > random.txt; cat random.txt"


def run(place: Path, *words: str | Path, options: tuple[str | Path, ...] = (), **others: object) -> Answer:
    """Run `netwarp exec` in this directory, with its result beside it."""
    return netwarp("exec", "-o", place.parent / f"{place.name}-result", *options, "--", *words, cwd=place)


def result_of(place: Path) -> Path:
    return place.parent / f"{place.name}-result"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """The working directory of commands."""
    directory = tmp_path / "work"
    directory.mkdir()
    return directory


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """A directory that a scenario may not read."""
    directory = Path(tempfile.mkdtemp(prefix="netwarp-home-", dir="/var/tmp"))
    directory.chmod(0o755)
    yield directory
    shutil.rmtree(directory)


def test_output_and_exit_code_are_the_commands(place: Path) -> None:
    answer = run(place, "sh", "-c", "echo out; echo err >&2; exit 7")
    assert answer.code == 7, answer.err
    assert answer.out == "out\n"
    assert answer.err.startswith("err\n")
    made = only_run(result_of(place)).path
    assert (made / "command.out").read_text() == "out\n"
    assert (made / "command.err").read_text() == "err\n"
    status = json.loads((made / "status.json").read_text())
    assert (status["status"], status["exit_code"]) == ("failed", 7)
    assert status["reason"] == "the command ended with exit code 7"


def test_what_is_printed_comes_in_its_order(place: Path) -> None:
    """Through one pipe, since two would be read one after the other."""
    script = "for i in $(seq 200); do echo out $i; echo err $i >&2; done"
    answer = netwarp("exec", "-o", result_of(place), "--", "sh", "-c", f"exec 2>&1; {script}", cwd=place)
    assert answer.out.split() == " ".join(f"out {i} err {i}" for i in range(1, 201)).split()


def test_output_is_live_and_an_interrupt_leaves_nothing(place: Path) -> None:
    command = start(
        "exec", "-o", result_of(place), "--", "sh", "-c", "echo first; trap '' TERM INT; while :; do i=$((i+1)); done"
    )
    assert command.stdout is not None
    assert command.stdout.readline() == "first\n"
    assert command.poll() is None
    os.killpg(command.pid, signal.SIGINT)
    command.communicate(timeout=60)
    assert command.returncode == 130
    assert wait_until_gone(result_of(place), 10) == []
    assert list(result_of(place).glob("runs/*")) == []


def test_output_that_nobody_reads_ends_it(place: Path) -> None:
    command = start("exec", "-o", result_of(place), "--", "sh", "-c", "while echo y; do :; done")
    assert command.stdout is not None
    assert command.stdout.readline() == "y\n"
    command.stdout.close()
    assert command.wait(timeout=60) == 141
    assert wait_until_gone(result_of(place), 10) == []
    if command.stderr:
        command.stderr.close()


def test_what_is_kept_has_a_bound_and_a_note_says_what_is_not(place: Path) -> None:
    """A sparse file counts with its length: the copy would take it on the disk."""
    script = "head -c 1500000 /dev/zero; echo oops >&2; truncate -s 2M b; echo small > c; head -c 900000 /dev/zero > a"
    answer = run(place, "sh", "-c", script, options=("--keep", "1M"))
    assert answer.code == 0, answer.err
    assert len(answer.out) == 1_500_000, "what is seen live is whole"
    made = only_run(result_of(place)).path
    sizes = {name: (made / name).stat().st_size for name in ("command.out", "command.err", "files/a", "files/c")}
    assert sizes == {"command.out": 2**20, "command.err": 5, "files/a": 900_000, "files/c": 6}
    status = json.loads((made / "status.json").read_text())
    assert status["status"] == "ok"
    assert status["left_out"] == ["b"]
    cut, left_out = status["notes"]
    assert cut == "command.out: only the first 1 MiB ([run] keep) of the output are kept"
    assert left_out.startswith("files that are not kept: b;")
    assert all(f"note: {note}" in answer.words for note in (cut, left_out))


def test_procps_finds_the_processor(place: Path) -> None:
    """libproc2 reads on to `core id` for each processor, and takes the end of /proc/cpuinfo for an error."""
    answer = run(place, "sh", "-c", "ps aux && ps -ef && TERM=dumb top -b -n 1")
    assert answer.code == 0, answer.err
    assert "Unable" not in answer.err
    assert "%Cpu(s):" in answer.out
    top = answer.out[answer.out.rindex("PID USER") :].splitlines()[1:]
    assert not [line for line in top if "?" in line.split()]


def test_changes_are_kept_in_the_result_and_made_nowhere_else(place: Path, home: Path) -> None:
    (place / "old.txt").write_text("before\n")
    (place / "gone.txt").write_text("still here\n")
    (home / "mine.txt").write_text("mine\n")
    script = f"""
        set -e
        cat {home}/mine.txt
        echo changed > {home}/mine.txt; echo new > {home}/new.txt
        echo after >> old.txt; rm gone.txt; mkdir -p a/b; echo deep > a/b/deep.txt; ln -s deep.txt a/b/link
        echo x > /etc/netwarp-was-here; echo x > /usr/netwarp-was-here; chmod 777 {home}; rm -rf {home}
        test ! -e {home}
    """
    answer = run(place, "sh", "-c", script)
    assert answer.code == 0, answer.err
    assert answer.out == "mine\n"
    made = only_run(result_of(place)).path
    kept = {str(p.relative_to(made / "files")): p.read_text() for p in (made / "files").rglob("*") if p.is_file()}
    assert kept == {"old.txt": "before\nafter\n", "a/b/deep.txt": "deep\n"}
    assert json.loads((made / "status.json").read_text())["left_out"] == ["a/b/link"]
    assert sorted(p.name for p in place.iterdir()) == ["gone.txt", "old.txt"]
    assert (place / "old.txt").read_text() == "before\n"
    assert (home / "mine.txt").read_text() == "mine\n"
    assert sorted(p.name for p in home.iterdir()) == ["mine.txt"]
    assert not Path("/etc/netwarp-was-here").exists()
    assert not Path("/usr/netwarp-was-here").exists()


MACHINE = r"""
test "$(id -u)" = 0
test "$(hostname)" = netwarp
getent hosts netwarp >/dev/null
ping -c 1 -W 1 127.0.0.1 >/dev/null
script -qec tty /dev/null | grep -q /dev/pts/
test -c /dev/net/tun
test -c /dev/null && test -c /dev/urandom && test -c /dev/full
echo x > /dev/shm/x && mkdir /run/mine && test -d /run/lock
test "$(stat -f -c %T /sys/fs/cgroup)" = cgroup2fs
mkdir /sys/fs/cgroup/mine && echo 10 > /sys/fs/cgroup/mine/pids.max
grep -qw memory /sys/fs/cgroup/mine/cgroup.controllers
test "$(cut -d. -f1 /proc/uptime)" -ge 60
test "$LANG" = C.UTF-8 && test -d "$HOME" && test "$USER" = root
test -e /proc/sys/net/ipv4/ip_forward
echo {} > /proc/self/fd/1
ip netns add x && ip link add a type veth peer name b netns x && ip netns exec x ip link set b up
echo all is well
"""


def test_it_is_a_small_machine_of_its_own(place: Path) -> None:
    answer = run(place, "sh", "-exc", MACHINE)
    assert answer.out.endswith("all is well\n"), answer.err
    assert answer.code == 0


def test_nothing_of_the_caller_reaches_the_environment(place: Path) -> None:
    command = ("exec", "-o", result_of(place), "--env", "MINE=1 2", "--", "env")
    answer = netwarp(*command, cwd=place, env={"SECRET": "x", "LC_ALL": "de_DE.UTF-8", "LD_PRELOAD": ""})
    names = {line.partition("=")[0] for line in answer.out.splitlines()}
    assert names == {"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TERM", "MINE", "OPENSSL_ia32cap"}
    assert "MINE=1 2\n" in answer.out


def test_scripts_and_virtual_environments_of_ones_own_work(place: Path) -> None:
    script = place / "lab.py"
    script.write_text(f"#!{sys.executable}\nimport sys, polars, os\nprint(sys.prefix, os.getcwd())\n")
    script.chmod(0o755)
    answer = run(place, "./lab.py")
    assert answer.out.split() == [sys.prefix, str(place)], answer.err


def test_values_and_seeds_are_runs_and_a_result_is_resumed(place: Path) -> None:
    script = "echo $QUEUE $RATE > got.txt; cat /proc/sys/kernel/random/uuid >> got.txt"
    options = ("--env", "QUEUE=fq,pfifo", "--env", "RATE=1", "--seeds", "2", "-j", "2")
    answer = run(place, "sh", "-c", script, options=options)
    assert answer.code == 0, answer.err
    result = result_of(place)
    assert len(finished(result)) == 4
    plan = json.loads((result / "plan.json").read_text())
    assert plan["axes"] == ["exec.env.QUEUE"]
    got = {
        (r["point"]["exec.env.QUEUE"], r["seed"]): (result / "runs" / r["id"] / "files/got.txt").read_text().split()
        for r in plan["runs"]
    }
    assert {key[0]: value[:2] for key, value in got.items()} == {"fq": ["fq", "1"], "pfifo": ["pfifo", "1"]}
    assert got["fq", 1][2] != got["fq", 2][2]
    before = digests(result)
    shutil.rmtree(result / "runs" / plan["runs"][0]["id"])
    again = run(place, "sh", "-c", script, options=options)
    assert again.code == 0, again.err
    assert digests(result) == before


def test_the_same_command_gives_the_same_bytes(place: Path, tmp_path: Path) -> None:
    found = []
    for name in ("one", "two"):
        answer = netwarp("exec", "-o", tmp_path / name, "--", "bash", "-c", ODD, cwd=place)
        assert answer.code == 0, answer.err
        found.append(digests(tmp_path / name))
    assert found[0] == found[1]
    assert netwarp("exec", "-o", tmp_path / "three", "--seed", "2", "--", "bash", "-c", ODD, cwd=place).code == 0
    other = next(iter(digests(tmp_path / "three").values()))
    assert other["command.out"] != next(iter(found[0].values()))["command.out"]
    again = netwarp("rerun", tmp_path / "one", "--read", "/")
    assert again.code == 0, again.err + again.out


COUNTER = """
#include <stdio.h>
#include <unistd.h>
#include <x86intrin.h>
int main(void)
{
    unsigned processor;
    unsigned long long before = __rdtsc(), after;

    sleep(3);
    after = __rdtscp(&processor);
    printf("%llu %u\\n", (after - before) / 1000000, processor);
    while (__rdtsc() - after < 1000000)
        ;
    puts("a loop that waits by it ends");
}
"""


def test_the_time_stamp_counter_is_virtual_time(place: Path) -> None:
    (place / "counter.c").write_text(COUNTER)
    subprocess.run(["gcc", "-O1", "-o", place / "counter", place / "counter.c"], check=True)
    answer = run(place, "./counter")
    assert answer.out == "3000 0\na loop that waits by it ends\n", answer.err


@pytest.mark.parametrize("environment, traced", [({}, False), ({"NETWARP_PTRACE": "1"}, True)])
def test_programs_are_traced_only_where_that_is_asked_for(
    place: Path, environment: dict[str, str], traced: bool
) -> None:
    with start(
        "exec", "-o", result_of(place), "--", "sh", "-c", "while :; do i=$((i+1)); done", env=environment
    ) as process:
        try:
            tracer = _tracer_of_the_loop(process.pid)
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(timeout=60)
    assert (tracer != 0) == traced


def _tracer_of_the_loop(pid: int) -> int:
    """The process that traces the host's process in which the guest's program computes; 0 is none."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        for found in psutil.Process(pid).children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                if found.name() == "linux" and found.parent().name() == "linux" and found.cpu_times().user > 0.5:
                    lines = Path(f"/proc/{found.pid}/status").read_text().splitlines()
                    return int(next(line for line in lines if line.startswith("TracerPid:")).split()[1])
        time.sleep(0.1)
    raise AssertionError("no program of the machine computed for half a second in a minute")


def test_modprobe_answers_for_what_is_built_in(place: Path) -> None:
    """`act_ct` is among the modules of Linux and not of this kernel."""
    script = "modprobe openvswitch && modprobe tcp_bbr && ! modprobe no-such-module && ! modprobe act_ct"
    answer = run(place, "sh", "-c", script)
    assert answer.code == 0, answer.err


def test_waiting_costs_nothing(place: Path) -> None:
    answer = run(place, "sh", "-c", "sleep 3600; cut -d. -f1 /proc/uptime")
    assert answer.out == "3660\n", answer.err


def test_it_is_root_for_an_ordinary_user_and_reads_what_that_one_may() -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can be someone else; the other tests are one as an ordinary user")
    with tempfile.TemporaryDirectory(prefix="netwarp-nobody-") as name:
        place = Path(name)
        kernel = find_kernel()
        shutil.copytree(kernel.directory, place / "cache/netwarp/kernels" / kernel.directory.name)
        (place / "own.sh").write_text(
            "#!/bin/sh\nid -u; cat /etc/shadow; ip link add x0 type dummy && echo made > made\n"
        )
        for path in (place, *place.rglob("*")):
            os.chown(path, NOBODY, NOBODY)
        answer = netwarp(
            *("exec", "-o", place / "result", "--", "sh", "./own.sh"),
            cwd=place,
            prefix=["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--no-new-privs"],
            env={"XDG_CACHE_HOME": str(place / "cache"), "HOME": "/nonexistent"},
        )
        assert (answer.out, answer.code) == ("0\n", 0), answer.err
        assert "Permission denied" in answer.err
        assert (only_run(place / "result").path / "files/made").read_text() == "made\n"


def test_confined_it_reads_what_a_scenario_may(place: Path, home: Path) -> None:
    (home / "secret.txt").write_text("secret\n")
    (place / "own.txt").write_text("own\n")
    words = ("sh", "-c", f"cat own.txt; cat {home}/secret.txt")
    answer = run(place, *words, options=("--confine",))
    assert (answer.out, answer.code) == ("own\n", 1), answer.err
    shutil.rmtree(result_of(place))
    allowed = run(place, *words, options=("--confine", "--read", home))
    assert (allowed.out, allowed.code) == ("own\nsecret\n", 0), allowed.err


def test_confined_in_a_home_directory_it_finds_there_what_it_may_read(home: Path) -> None:
    """It contains its own directory, and permitted paths; nothing else, and a program may make it its home."""
    work, tools = home / "work", home / "tools"
    for path in (work, tools, home / ".ssh"):
        path.mkdir()
    (home / "secret.txt").write_text("secret\n")
    (tools / "shell").symlink_to("/bin/sh")
    (work / "own.sh").write_text(f"#!{tools}/shell\ncd; ls -A; echo x > new; cat secret.txt; cd -; echo y > made; ls\n")
    (work / "own.sh").chmod(0o755)
    cache = os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache"))
    result = home / "result"
    answer = netwarp(
        *("exec", "-o", result, "--confine", "--read", tools, "--", "./own.sh"),
        cwd=work,
        env={"HOME": str(home), "XDG_CACHE_HOME": cache},
    )
    assert answer.out == f"tools\nwork\n{work}\nmade\nown.sh\n", answer.err
    assert "secret.txt: No such file or directory" in answer.err
    assert (only_run(result).path / "files/made").read_text() == "y\n"
    assert sorted(path.name for path in home.iterdir()) == [".ssh", "result", "secret.txt", "tools", "work"]
    assert [path.name for path in work.iterdir()] == ["own.sh"]


ATTEMPTS = """
mount -o remount,rw /; echo x > {home}/new
mkdir /run/h; mount -t hostfs -o {home} none /run/h && echo x > /run/h/new
nsenter -t 1 -m sh -c 'mount -o remount,rw /; echo x > {home}/new; echo x > /run/netwarp/../../{home}/new'
echo x > /proc/1/root/{home}/new
rm -f /proc/1/root/{home}/mine.txt
chmod 777 /proc/1/root/{home}/mine.txt
umount -l /proc; umount -l /sys; umount -l /dev; echo x > {home}/new
ln /proc/1/root/{home}/mine.txt /proc/1/root/{home}/hard
"""


@pytest.mark.parametrize("attempt", ATTEMPTS.strip().splitlines())
def test_nothing_is_written_but_into_the_overlay(attempt: str, place: Path, home: Path) -> None:
    (home / "mine.txt").write_text("mine\n")
    before = (home / "mine.txt").stat()
    run(place, "sh", "-c", attempt.format(home=home))
    after = (home / "mine.txt").stat()
    assert [p.name for p in home.iterdir()] == ["mine.txt"]
    assert (home / "mine.txt").read_text() == "mine\n"
    assert (before.st_mode, before.st_nlink, before.st_ctime_ns) == (after.st_mode, after.st_nlink, after.st_ctime_ns)


SWITCH_OFF = "import ctypes; ctypes.CDLL(None).reboot(0x4321FEDC)"


@pytest.mark.parametrize(
    ("words", "code", "reason"),
    [
        (["no-such-program", "x"], 127, "cannot start `no-such-program`: No such file or directory"),
        (["/etc/passwd"], 126, "cannot start `/etc/passwd`: Permission denied"),
        (["sh", "-c", "kill -9 1; kill 1; sleep 1; echo alive"], 0, ""),
        (["sh", "-c", "kill -9 $$"], 137, "the code of a program that SIGKILL ended"),
        (["sh", "-c", "kill -9 -1"], 0, ""),  # a process that kills all is spared (kill(2)), and succeeds
        (["sh", "-c", "sh -c 'kill -9 -1'; echo after"], 137, "the code of a program that SIGKILL ended"),
        (["sh", "-c", "exec >&- 2>&-; echo x; exit 3"], 3, ""),
        (["sh", "-c", "dd if=/dev/zero of=/var/tmp/full bs=1M"], 1, "No space left on device"),
        (["python3", "-c", SWITCH_OFF], 3, "was switched off from within"),
        (["sleep", "infinity"], 3, "it waits for something that does not come"),
        (["ping", "-c", "1", "-W", "2", "192.0.2.1"], 2, "Network is unreachable"),
        (["cat", "/dev/sda"], 1, "No such"),
    ],
)
def test_what_goes_wrong_is_said_in_a_line(words: list[str], code: int, reason: str, place: Path) -> None:
    answer = run(place, *words, options=("--memory", "256M"))
    assert answer.code == code, answer.err
    assert reason in answer.words
    assert wait_until_gone(result_of(place), 10) == []


@pytest.mark.parametrize(
    "script", [":(){ :|:& };:; while :; do sleep 1; done", "trap '' TERM; while :; do ((i++)); done"]
)
def test_what_goes_on_for_ever_is_ended_and_named(script: str, place: Path) -> None:
    answer = run(place, "bash", "-c", script, options=("--time-limit", "8s"))
    assert answer.code == 3, answer.err
    assert "did not end within 8 s of its own time" in answer.words or "without a system call" in answer.words
    assert "bash (pid " in answer.words
    assert wait_until_gone(result_of(place), 10) == []


def test_a_machine_that_is_too_small_says_so(place: Path) -> None:
    program = "x = []\nwhile True: x.append(b'x' * (1 << 20))"
    answer = run(place, "python3", "-c", program, options=("--memory", "96M", "--time-limit", "60s"))
    assert answer.code == 137, answer.err
    assert "out of memory" in answer.words.lower(), answer.err


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ([], "there is no command"),
        (["--seed", "1", "--seeds", "2", "--", "true"], "--seed and --seeds are both given"),
        (["--env", "X", "--", "true"], "this is not NAME=VALUE"),
        (["--memory", "1M", "--", "true"], "too little"),
        (["--time-limit", "soon", "--", "true"], "soon"),
        (["--env", "A B=1", "--", "true"], "cannot name a variable"),
        (["--confine", "--read", "/no/such", "--", "true"], "there is no such file or directory"),
        (["--engine", "host", "--", "true"], "cannot run a command in a separate machine"),
    ],
)
def test_what_is_asked_for_wrongly_is_refused(arguments: list[str], reason: str, place: Path) -> None:
    answer = netwarp("exec", *arguments, cwd=place)
    assert answer.code == 2, answer.err
    assert reason in answer.words
    assert list(place.iterdir()) == []
