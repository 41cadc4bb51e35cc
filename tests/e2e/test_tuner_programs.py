"""Programs that tune nodes while a run lasts, in both engines."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from e2e_command import Answer, finished, netwarp
from e2e_scenarios import BULK, dumbbell
from netwarp.store.result import open_result
from netwarp.store.rundir import RunDir
from netwarp.studies.tuners.programs import tcp_buffer

TUNER = Path(__file__).with_name("grow_rmem.py")
BUFFERS = Path(tcp_buffer.__file__)
START_BYTES = 150_000


def _run(place: Path, engine: str, program: list[str], *more: str) -> tuple[Answer, RunDir]:
    """One flow to a receiver with a small buffer, which a program tunes, through a queue that can hold more."""
    tail = f'[tuners.own]\nnodes = ["h2"]\nprogram = {program}\n[run]\ntuner = "own"\n'
    text = dumbbell(duration="6s", delay="0ms", queue="pfifo limit 2000", flows=BULK, tail=tail)
    small = f'h2 = {{ sysctl = {{ "net.ipv4.tcp_rmem" = "4096 65536 {START_BYTES}" }} }}'
    (place / "s.toml").write_text(text.replace("h2 = {}", small))
    answer = netwarp("run", place / "s.toml", "--engine", engine, "-o", place / "r", "--no-plots", *more)
    (run_id,) = finished(place / "r")
    return answer, RunDir(place / "r" / "runs" / run_id)


@pytest.mark.parametrize("engine", ["uml", "host"])
def test_a_program_tunes_and_what_it_changes_is_recorded(tmp_path: Path, engine: str) -> None:
    script = shutil.copy(TUNER, tmp_path)
    answer, run = _run(tmp_path, engine, ["python3", str(script)], "--set", 'record.sample="100ms"')
    assert answer.code == 0, answer.err
    settings = run.scan("sysctls").collect()
    assert settings["node"].unique().to_list() == ["h2"]
    values = settings.filter(name="net.ipv4.tcp_rmem").sort("time_ns")
    largest = [int(value.split()[2]) for value in values["value"]]
    assert largest[0] == START_BYTES
    assert len(largest) >= 2, (run.path / "tuner-h2.err").read_text()
    assert largest == [START_BYTES << step for step in range(len(largest))]
    log = (run.path / "tuner-h2.out").read_text().splitlines()
    assert len(log) >= len(largest) - 1
    assert log[0] == f"tcp_rmem: {START_BYTES} is used up, now {2 * START_BYTES}"
    # Any other setting has only its first value.
    others = settings.filter(settings["name"] != "net.ipv4.tcp_rmem")
    assert others.height > 50
    assert others["name"].n_unique() == others.height
    # The tuning has its effect: the socket's buffer grew beyond its initial limit.
    sockets = run.scan("sockets").filter(node="h2").collect()
    assert max(sockets["rcv_ssthresh_bytes"].drop_nulls().to_list()) > START_BYTES // 2


def test_a_tuner_is_part_of_a_runs_identity(tmp_path: Path) -> None:
    ids = []
    for number, program in enumerate((["sleep", "100"], ["sleep", "200"])):
        place = tmp_path / str(number)
        place.mkdir()
        answer, run = _run(place, "uml", program)
        assert answer.code == 0, answer.err
        ids.append(run.path.name)
    assert len(set(ids)) == 2


@pytest.mark.parametrize(
    ("program", "said"),
    [
        (["false"], "the tuner `false` of h2 ended before the run began: exit status 1"),
        (["sleep", "2"], "the tuner `sleep 2` of h2 ended before the run"),
        (["no-such-tuner"], "tuner of h2: cannot start `no-such-tuner`"),
    ],
)
def test_a_tuner_that_does_not_live_fails_the_run(tmp_path: Path, program: list[str], said: str) -> None:
    answer, run = _run(tmp_path, "host", program)
    assert answer.code == 3, answer.err
    assert said in str(run.status()["reason"])


CHANGE = re.compile(r"(tcp_[rw]mem): (\d+) -> (\d+): (.+)")


def test_buffers_grow_as_bpftune_publishes(tmp_path: Path) -> None:
    """A flow that its buffers limit to a quarter of the link fills it once the tuner has raised them, by quarters."""
    script = shutil.copy(BUFFERS, tmp_path)
    tail = f"""
[tuners.watching]
program = ["python3", "{script}"]
nodes = ["h1", "h2"]
[sweep]
"run.tuner" = ["default", "watching"]
"""
    text = dumbbell(duration="10s", rate="20mbit", delay="50ms", queue="pfifo limit 400", flows=BULK, tail=tail)
    text = text.replace("h1 = {}", 'h1 = { sysctl = { "net.ipv4.tcp_wmem" = "4096 16384 131072" } }')
    text = text.replace("h2 = {}", 'h2 = { sysctl = { "net.ipv4.tcp_rmem" = "4096 65536 131072" } }')
    (tmp_path / "s.toml").write_text(text)
    answer = netwarp("run", tmp_path / "s.toml", "-o", tmp_path / "r", "--no-plots")
    assert answer.code == 0, answer.err
    result = open_result(tmp_path / "r")
    goodput = dict(result.summary().filter(metric="goodput_mbps", name="bulk").select("run.tuner", "value").iter_rows())
    # 131072 bytes of memory are 0.63 times as many of data, in an RTT of 100 ms: 6.6 Mbit/s at most.
    assert goodput["default"] < 6.6
    assert goodput["watching"] > 15
    (watched,) = [result.run(run.id) for run in result.planned if run.point["run.tuner"] == "watching"]
    for node, setting in (("h1", "tcp_wmem"), ("h2", "tcp_rmem")):
        changes = [CHANGE.fullmatch(line) for line in (watched.path / f"tuner-{node}.out").read_text().splitlines()]
        assert len(changes) > 8
        size = 131072
        for change in changes:
            assert change is not None
            assert (change[1], int(change[2])) == (setting, size)
            step = size >> 2 if change[4] == "a buffer is nearly full" else -(size >> 2)
            size += step
            assert int(change[3]) == size
        recorded = watched.scan("sysctls").collect().filter(node=node, name=f"net.ipv4.{setting}").sort("time_ns")
        assert int(recorded["value"].to_list()[-1].split()[2]) == size
    # The RTT grows with the send buffer, because the queue fills: bpftune's tuner then shrinks it.
    assert "the RTT grows with it" in (watched.path / "tuner-h1.out").read_text()


BPF = """
import ctypes, errno, os, struct
libc = ctypes.CDLL(None, use_errno=True)
code = ctypes.create_string_buffer(struct.pack("<BBhiBBhi", 0xB7, 0, 0, 0, 0x95, 0, 0, 0))  # r0 = 0; exit
licence = ctypes.create_string_buffer(b"GPL")
for name, kind in (("socket_filter", 1), ("sock_ops", 13), ("kprobe", 2), ("raw_tracepoint", 17), ("tracing", 26)):
    asked = struct.pack("<IIQQ", kind, 2, ctypes.addressof(code), ctypes.addressof(licence)).ljust(144, b"\\0")
    done = libc.syscall(321, 5, ctypes.create_string_buffer(asked), len(asked))
    print(name, "loaded" if done >= 0 else errno.errorcode[ctypes.get_errno()])
print("BTF", os.path.exists("/sys/kernel/btf/vmlinux"))
"""


def test_the_machine_loads_no_bpf_programs_that_trace(tmp_path: Path) -> None:
    """docs/bpftune.md says which kinds of programs can be loaded in virtual time, and which error the others get."""
    (tmp_path / "bpf.py").write_text(BPF)
    answer = netwarp("exec", "-o", tmp_path / "r", "--", "python3", "bpf.py", cwd=tmp_path)
    loaded = "socket_filter loaded\nsock_ops loaded\n"
    assert answer.out == f"{loaded}kprobe EINVAL\nraw_tracepoint EINVAL\ntracing EINVAL\nBTF False\n", answer.err
