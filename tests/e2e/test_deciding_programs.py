"""Programs on the host that decide congestion control: they get states and answer, or else their run fails."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import netwarp as nw
import polars as pl
import pytest
from e2e_command import NETWARP, netwarp, succeed
from e2e_compile import compiled
from e2e_runs import only_run
from e2e_scenarios import dumbbell
from netwarp.engines import deciders
from netwarp.modules.program import header
from netwarp.policy import LOSS, START, TIMEOUT
from netwarp.store.run_status import RunStatus
from netwarp.store.rundir import RunDir

RENO = "program:reno.py per_ack=1"
FRAME_BYTES = 1514
FIXED = """
from netwarp.policy import Action, serve
import sys
serve(lambda: lambda state: Action(cwnd={cwnd}, pacing_rate={rate}))
"""


def scenario(folder: Path, text: str | None = None) -> Path:
    """A scenario in a folder: by default a dumbbell of 10 Mbit/s."""
    (folder / "s.toml").write_text(text or dumbbell(duration="4s"))
    return folder / "s.toml"


def run(folder: Path, cc: str, text: str | None = None) -> Path:
    """The result of a run with this congestion control, which must succeed."""
    succeed("run", scenario(folder, text), "--no-plots", "-o", folder / "result", "--set", f'flows.bulk.cc="{cc}"')
    return folder / "result"


def late_acks(made: RunDir) -> pl.DataFrame:
    """The ACKs of a run with RTTs, after its first two seconds."""
    return made.scan("acks").filter((pl.col("time_ns") > 2 * 10**9) & pl.col("rtt_us").is_not_null()).collect()


def highest_rtt_us(made: RunDir) -> float:
    """The highest RTT of a run after its first two seconds."""
    return float(late_acks(made).select(pl.col("rtt_us").max()).item())


def reason(folder: Path, text: str) -> str:
    """The reason for which the run with a program of this text fails."""
    (folder / "wrong.py").write_text(text)
    answer = netwarp(
        "run", scenario(folder), "--no-plots", "-o", folder / "result", "--set", "flows.bulk.cc=program:./wrong.py"
    )
    assert answer.code == 3, answer.err
    status = only_run(folder / "result").status()
    assert status["status"] == RunStatus.FAILED
    return str(status["reason"])


def test_reno_as_a_program_is_as_good_as_the_kernels(tmp_path: Path) -> None:
    """The same window law on the same path: mean window, losses and goodput are alike."""
    succeed(
        "run",
        scenario(tmp_path, dumbbell(duration="20s", delay="20ms", queue="pfifo limit 40")),
        *("--no-plots", "-o", tmp_path / "result", "--sweep", f"flows.bulk.cc=reno,{RENO}"),
    )
    found = pl.read_parquet(tmp_path / "result" / "summary.parquet")
    axis = "flows.bulk.cc"

    def values(metric: str, name: str) -> tuple[float, float]:
        rows = found.filter(pl.col("metric") == metric, pl.col("name") == name)
        by = dict(zip(rows[axis].to_list(), rows["value"].to_list(), strict=True))
        return by["reno"], by[RENO]

    kernels, programs = values("goodput_mbps", "bulk")
    assert programs == pytest.approx(kernels, rel=0.01)
    kernels, programs = values("length_pkts_mean", "bottleneck:r1")
    assert programs == pytest.approx(kernels, rel=0.1)
    kernels, programs = values("retransmits", "bulk")
    assert programs == pytest.approx(kernels, rel=0.1)


def test_the_same_seed_gives_the_same_bytes_and_a_result_can_be_repeated_without_the_program(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text((Path(deciders.__file__).parents[1] / "gallery/program/reno.py").read_text())
    made = run(tmp_path, "program:./mine.py per_ack=1")
    (tmp_path / "mine.py").unlink()
    answer = succeed("rerun", made)
    assert "identical" in answer.out + answer.err


def test_a_window_and_a_pacing_rate_are_set_as_the_program_says(tmp_path: Path) -> None:
    """W packets in flight take W x 1514 x 8 / 10^7 s; a paced sender with a large window builds no queue."""
    (tmp_path / "fixed.py").write_text(FIXED.format(cwnd=40, rate=0))
    made = only_run(run(tmp_path, "program:./fixed.py"))
    assert highest_rtt_us(made) == pytest.approx(40 * FRAME_BYTES * 8 / 10, rel=0.005)
    (tmp_path / "paced").mkdir()
    (tmp_path / "paced" / "fixed.py").write_text(FIXED.format(cwnd=400, rate=500_000))
    made = only_run(run(tmp_path / "paced", "program:./fixed.py"))
    assert highest_rtt_us(made) < 24_000
    late = late_acks(made)
    delivered = late["delivered_pkts"]
    seconds = (late["time_ns"][-1] - late["time_ns"][0]) / 1e9
    assert (delivered[-1] - delivered[0]) * 1500 / seconds == pytest.approx(500_000, rel=0.05)


def test_states_come_at_intervals_and_agree_with_the_kernels_records(tmp_path: Path) -> None:
    (tmp_path / "look.py").write_text(
        "import sys\n"
        "from netwarp.policy import Action, serve\n"
        "def act(s):\n"
        "    print(s.event, s.time_ns, s.interval_ns, s.delivered, s.total_delivered, *sys.argv[1:], flush=True)\n"
        "    return Action(cwnd=30)\n"
        "serve(lambda: act)\n"
    )
    made = only_run(run(tmp_path, "program:./look.py interval_us=50000 hello"))
    lines = [line.split() for line in (made.path / "tcp_p_look.log").read_text().splitlines()]
    assert {line[5] for line in lines} == {"hello"}
    # Both ends of a connection have the control; the receiver's sends nothing and sees no ACK.
    assert [line[0] for line in lines[:3]] == ["0", "0", "1"]
    steady = [line for line in lines if line[0] == "1"][5:]
    assert len(steady) > 60
    # An interval ends with the first ACK after 50 ms; an ACK of two packets comes every 2.4 ms.
    assert all(50_000_000 <= int(line[2]) < 53_000_000 for line in steady)
    assert all(1200 * int(line[3]) * 1000 == pytest.approx(int(line[2]), rel=0.1) for line in steady)
    acks = made.scan("acks").collect()
    at = dict(zip(acks["time_ns"].to_list(), acks["delivered_pkts"].to_list(), strict=True))
    assert all(at[int(line[1])] == int(line[4]) for line in steady)
    names = made.scan("variables").collect()
    assert set(names["name"]) >= {"pacing_rate", "interval_us", "rtt_mean_us"}


def states_under_loss(folder: Path, loss: str, sysctl: str) -> list[tuple[int, int, int]]:
    """Event, state of the connection and lowest RTT of each state of a run with random losses and a window of 1.

    The unit is a microsecond.
    """
    (folder / "look.py").write_text(
        "from netwarp.policy import Action, serve\n"
        "def act(s):\n"
        "    print(s.event, s.ca_state, s.min_rtt_us, flush=True)\n"
        "    return Action(cwnd=1)\n"
        "serve(lambda: act)\n"
    )
    text = dumbbell(duration="8s").replace('delay = "10ms"', f'delay = "10ms"\nloss = "{loss}"')
    made = only_run(run(folder, "program:./look.py per_ack=1", text.replace("h1 = {}", f"h1 = {{ {sysctl} }}")))
    lines = (made.path / "tcp_p_look.log").read_text().splitlines()
    return [(int(event), int(state), int(rtt)) for event, state, rtt in map(str.split, lines)]


def test_a_timeout_is_a_state_of_loss(tmp_path: Path) -> None:
    states = states_under_loss(tmp_path, "30%", "")
    assert {state for event, state, _ in states if event == TIMEOUT} == {LOSS}


def test_a_connection_without_an_rtt_says_zero(tmp_path: Path) -> None:
    """A SYN that was sent twice gives no RTT (Karn's rule) without timestamps."""
    states = states_under_loss(tmp_path, "50%", 'sysctl = { "net.ipv4.tcp_timestamps" = "0" }')
    assert {rtt for event, _, rtt in states if event == START} == {0}


def test_a_program_in_c(tmp_path: Path) -> None:
    (tmp_path / "fixed.c").write_text(
        '#include "netwarp_policy.h"\n'
        "int main(void)\n{\n"
        "	struct netwarp_policy_state s;\n\n"
        "	while (netwarp_policy_next(&s)) {\n"
        "		struct netwarp_policy_action a = netwarp_policy_same(&s);\n\n"
        "		a.cwnd = 20;\n"
        "		netwarp_policy_answer(&a);\n"
        "	}\n"
        "	return 0;\n}\n"
    )
    compiled(tmp_path / "fixed.c", tmp_path / "fixed", f"-I{header().parent}")
    made = only_run(run(tmp_path, "program:./fixed"))
    assert highest_rtt_us(made) == pytest.approx(20 * FRAME_BYTES * 8 / 10, rel=0.01)


def test_one_program_decides_for_several_flows(tmp_path: Path) -> None:
    (tmp_path / "fixed.py").write_text(FIXED.format(cwnd=10, rate=0))
    flows = '[flows.bulk]\nfrom = "h1"\nto = "h2"\ntool = "bulk"\ncount = 3\n'
    made = only_run(run(tmp_path, "program:./fixed.py", dumbbell(duration="4s", flows=flows)))
    late = late_acks(made)
    assert late["tuple_id"].n_unique() == 3
    assert highest_rtt_us(made) == pytest.approx(3 * 10 * FRAME_BYTES * 8 / 10, rel=0.05)


def test_a_program_that_ends_is_named_with_its_last_words(tmp_path: Path) -> None:
    why = reason(tmp_path, "import sys\nsys.stdin.buffer.raw.read(152)\nraise ValueError('a mistake of mine')\n")
    assert "the program ./wrong.py, which decides a congestion control, has ended" in why
    assert "exit code 1; it printed: ValueError: a mistake of mine" in why


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("b'nonsense'", "another size"),
        ("bytes(24)", "does not begin as an action does"),
        ("struct.pack('<4IQ', 0x3150574e, 7, 10, 0, 0)", "for another connection"),
        ("struct.pack('<4IQ', 0x3150574e, 0, 0, 0, 0)", "a window outside of 1 to 2^24 packets"),
        ("struct.pack('<4IQ', 0x3150574e, 0, 9, 0, 1 << 60)", "a pacing rate above"),
    ],
)
def test_nonsense_fails_the_run(tmp_path: Path, answer: str, said: str) -> None:
    why = reason(tmp_path, f"import os, struct\nwhile os.read(0, 200):\n    os.write(0, {answer})\n")
    assert "the program ./wrong.py, which decides a congestion control, answered" in why
    assert said in why


def test_a_program_that_hangs_fails_the_run_and_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deciders, "ANSWER_S", 1)
    monkeypatch.setattr(deciders, "_END_S", 0.5)
    (tmp_path / "hangs.py").write_text(
        "import os, time\nos.read(0, 200)\nprint(os.getpid(), flush=True)\ntime.sleep(600)\n"
    )
    nw.run(scenario(tmp_path), set={"flows.bulk.cc": "program:./hangs.py"}, output=tmp_path / "result", quiet=True)
    made = only_run(tmp_path / "result")
    assert "the program ./hangs.py, which decides a congestion control, did not answer in time" in str(
        made.status()["reason"]
    )
    assert not Path(f"/proc/{int((made.path / 'tcp_p_hangs.log').read_text())}").exists()


def test_a_program_that_linux_refuses_to_start_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deciders, "_environment", lambda *_: {"TOO_LONG": "a" * 200_000})
    nw.run(scenario(tmp_path), set={"flows.bulk.cc": RENO}, output=tmp_path / "result", quiet=True)
    why = str(only_run(tmp_path / "result").status()["reason"])
    assert "the program reno.py, which decides a congestion control, cannot start" in why
    assert "too long" in why


def test_a_program_and_all_that_it_started_end_with_netwarp(tmp_path: Path) -> None:
    """Also a process that has closed the socket, and whose parent waits in vain."""
    (tmp_path / "waits.py").write_text(
        "import os, time\n"
        "child = os.fork()\n"
        "if not child:\n"
        "    os.close(0)\n"
        "    time.sleep(600)\n"
        "print(os.getpid(), child, flush=True)\n"
        "time.sleep(600)\n"
    )
    process = subprocess.Popen(
        [NETWARP, "run", scenario(tmp_path), "-o", tmp_path / "result", "--set", "flows.bulk.cc=program:./waits.py"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    until = time.monotonic() + 60
    while not (found := [p for p in (tmp_path / "result").rglob("tcp_p_waits.log") if p.read_text().strip()]):
        assert time.monotonic() < until
        time.sleep(0.1)
    pids = found[0].read_text().split()
    process.kill()
    process.wait()
    while any(Path(f"/proc/{pid}").exists() for pid in pids):
        assert time.monotonic() < until
        time.sleep(0.1)


def test_a_program_is_confined(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "weights").write_text("7")
    (tmp_path / "nosy.py").write_text(
        "import socket\n"
        "from netwarp.policy import Action, serve\n"
        "print(open('weights').read())\n"
        f"secret = {str(tmp_path / 'secret')!r}\n"
        "for attempt in (lambda: open(secret), lambda: socket.socket(), lambda: open('/etc/passwd')):\n"
        "    try:\n"
        "        attempt(); print('done')\n"
        "    except OSError as error:\n"
        "        print(type(error).__name__)\n"
        "serve(lambda: lambda state: Action(10))\n"
    )
    made = only_run(run(tmp_path, "program:./nosy.py ./weights"))
    assert (made.path / "tcp_p_nosy.log").read_text().split() == ["7", *["PermissionError"] * 3]


NOSY = """
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
CALLS = {
    "chmod": (90, PATH, 0o777),
    "utime": (132, PATH, 0),
    "chown": (92, PATH, 0, 0),
    "setxattr": (188, PATH, b"user.x", b"", 0, 0),
    "truncate": (76, PATH, 0),
    "flock": (73, 1, 2),
    "prlimit": (302, os.getppid(), 7, 0, 0),
    "setpriority": (141, 0, os.getppid(), 1),
    "sched_setaffinity": (203, os.getppid(), 8, bytes(8)),
    "unshare": (272, 0x10000000),
    "clone": (56, 0x10000000 | 17, 0, 0, 0, 0),
    "shmget": (29, 0, 4096, 0o1600),
    "msgget": (68, 0, 0o1600),
    "semget": (64, 0, 1, 0o1600),
    "add_key": (248, b"user", b"x", b"x", 1, -3),
    "keyctl": (250, 0, -3, 0),
    "bpf": (321, 0, 0, 0),
    "perf_event_open": (298, 0, 0, -1, -1, 0),
    "userfaultfd": (323, 1),
    "ptrace": (101, 16, os.getppid(), 0, 0),
    "pdeathsig": (157, 1, 0),
    "mount": (165, PATH, PATH, PATH, 0, 0),
    "setsid": (112,),
    "io_uring_setup": (425, 1, 0),
    "syslog": (103, 10, 0, 0),
    "reboot": (169, 0, 0, 0),
}
for name, (number, *arguments) in CALLS.items():
    ctypes.set_errno(0)
    answer = libc.syscall(number, *arguments)
    if name == "clone" and answer == 0:
        os._exit(0)
    print(name, answer, errno.errorcode.get(ctypes.get_errno()))
try:
    os.kill(os.getppid(), 0)
    print("kill", 0, None)
except PermissionError:
    print("kill", -1, "EPERM")
import threading
thread = threading.Thread(target=print, args=("thread", "runs", "here"))
thread.start()
thread.join()
serve(lambda: lambda state: Action(10))
"""


def test_a_program_has_no_system_calls_that_reach_beyond_its_files(tmp_path: Path) -> None:
    """Machines have no such calls either (SECURITY.md); Landlock does not govern them."""
    (tmp_path / "mine").write_text("mine")
    before = (tmp_path / "mine").stat()
    (tmp_path / "nosy.py").write_text(
        f"PATH = {str(tmp_path / 'mine').encode()!r}\nfrom netwarp.policy import Action, serve\n{NOSY}"
    )
    made = only_run(run(tmp_path, "program:./nosy.py", dumbbell(duration="200ms")))
    lines = (made.path / "tcp_p_nosy.log").read_text().splitlines()
    assert lines.pop() == "thread runs here"
    assert len(lines) == 27
    assert [line for line in lines if not line.endswith(" -1 EPERM")] == []
    assert (tmp_path / "mine").stat() == before


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has capabilities")
def test_a_program_of_root_has_no_capabilities(tmp_path: Path) -> None:
    """But CAP_DAC_READ_SEARCH (2), with which root reads what is another user's."""
    (tmp_path / "nosy.py").write_text(
        "import ctypes\n"
        "from netwarp.policy import Action, serve\n"
        "libc = ctypes.CDLL(None)\n"
        "words = (ctypes.c_uint32 * 6)()\n"
        "assert libc.capget((ctypes.c_uint32 * 2)(0x20080522, 0), words) == 0\n"
        "print(*words, *[number for number in range(41) if libc.prctl(23, number, 0, 0, 0) == 1])\n"
        "serve(lambda: lambda state: Action(10))\n"
    )
    made = only_run(run(tmp_path, "program:./nosy.py", dumbbell(duration="200ms")))
    assert (made.path / "tcp_p_nosy.log").read_text().split() == ["4", "4", "0", "0", "0", "0", "2"]


def test_other_engines_refuse_and_the_command_line_is_no_caller(tmp_path: Path) -> None:
    answer = netwarp("run", scenario(tmp_path), "--set", f'flows.bulk.cc="{RENO}"', "--engine", "host")
    assert answer.code == 2
    assert 'the engine "host" cannot let a program decide a congestion control (reno.py); use "uml"' in answer.words
    answer = netwarp("run", scenario(tmp_path), "--set", "flows.bulk.cc=program:-", "-o", tmp_path / "result")
    assert answer.code == 2
    assert "`program:-` is the caller of a run" in answer.words


def test_the_content_of_a_program_and_of_its_files_is_in_the_id(tmp_path: Path) -> None:
    ids = set()
    variants = ((10, "a", "x"), (11, "a", "x"), (10, "b", "x"), (10, "a", "y"), (10, "a", "x"))
    for number, (cwnd, weights, argument) in enumerate(variants):
        (tmp_path / "fixed.py").write_text(FIXED.format(cwnd=cwnd, rate=0))
        (tmp_path / "weights").write_text(weights)
        nw.run(
            scenario(tmp_path, dumbbell(duration="200ms")),
            set={"flows.bulk.cc": f"program:./fixed.py ./weights {argument}"},
            output=tmp_path / f"result-{number}",
            quiet=True,
        )
        ids.add(only_run(tmp_path / f"result-{number}").path.name)
    assert len(ids) == 4


def test_vivace_fills_a_slow_link_without_filling_its_queue(tmp_path: Path) -> None:
    """At 10 Mbit/s an interval of 50 packets is longer than the RTT, so that most ACKs of an interval are for its own
    packets. A rate that was judged by another one's ACKs, or by a draining queue, leaves a fifth of the link free."""
    link = {"links.bottleneck.queue": "pfifo limit 100", "duration": "20s"}
    made = nw.run(
        "bufferbloat", set={"flows.bulk.cc": "program:vivace.py", **link}, output=tmp_path / "result", quiet=True
    )
    (goodput,) = made.summary.filter(metric="goodput_mbps", name="bulk")["value"]
    (drops,) = made.summary.filter(metric="drops", scope="queue", name="bottleneck:r1")["value"]
    assert goodput > 8.8
    assert drops == 0


@pytest.mark.nightly
def test_vivace_does_what_its_utility_says(tmp_path: Path) -> None:
    """A full link with a short queue, a fair half, and random losses, as its scenario expects of one seed."""
    succeed("run", Path(nw.__file__).parent / "gallery" / "vivace.toml", "--no-plots", "-o", tmp_path / "result")
