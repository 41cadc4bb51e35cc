"""A run whose network is divided between several kernels: it records what one kernel does."""

from __future__ import annotations

import contextlib
import os
import signal
import struct
import subprocess
import time
from collections.abc import Collection, Iterator
from pathlib import Path

import polars as pl
import pytest
from e2e_command import NETWARP, netwarp
from e2e_runs import only_run
from netwarp.store.digests import read_digests
from netwarp.store.result import open_result
from netwarp.store.rundir import RunDir
from netwarp.store.schemas import TABLES

from bench.torture.repeats import busy_host

EXACT = '{ sysctl = { "net.ipv4.tcp_comp_sack_slack_ns" = 0 } }'
"""Its timers expire on time, and not together with those that its kernel's other nodes happen to have."""
END_NS = 3 * 10**9
"""The end of a run of CHAIN."""
# RED and BBR are random in the kernel: both are in the first part, which draws the numbers of a whole network.
CHAIN = f"""
name = "parts"
duration = "3s"
[run]
cpus = CPUS
[nodes]
h1 = {EXACT}
r1 = {{ forward = true }}
r2 = {{ forward = true }}
r3 = {{ forward = true }}
h2 = {EXACT}
[links.access]
ends = ["h1", "r1"]
rate = "1gbit"
[links.first]
ends = ["r1", "r2"]
rate = "20mbit"
delay = {{ forward = "10ms", reverse = "4ms" }}
queue = "fq_codel"
loss = "1%"
duplicate = "5%"
[links.second]
ends = ["r2", "r3"]
rate = "15mbit"
delay = "5ms"
queue = {{ forward = "fq_codel", reverse = "red limit 200000 min 10000 max 30000 avpkt 1000 burst 15 probability 0.1" }}
[links.exit]
ends = ["r3", "h2"]
rate = "1gbit"
[[changes]]
at = "2s"
link = "first"
rate = "12mbit"
delay = "7ms"
[record]
captures = [{{ at = "second:r2" }}, {{ at = "exit:h2" }}]
queue_states = ["first:r1", "second:r2"]
[flows.cubic]
from = "h1"
to = "h2"
tool = "bulk"
count = 2
[flows.bbr]
from = "h2"
to = "h1"
tool = "bulk"
cc = "bbr"
family = "ipv6"
[flows.sized]
from = "h1"
to = "h2"
tool = "bulk"
bytes = "200kB"
start = "1s"
[flows.datagrams]
from = "h2"
to = "h1"
tool = "poisson"
rate = "2mbit"
[flows.request]
from = "h1"
to = "h2"
tool = "request"
response_size = "50kB"
think = "20ms"
[flows.quic]
from = "h1"
to = "h2"
tool = "quic"
[flows.ping]
from = "h1"
to = "h2"
tool = "ping"
"""
_NUMBERS = {"tuple_id", "cookie", "handle"}
"""Numbers that each kernel gives itself: of five-tuples, sockets, and the queues to which fq_codel hashes flows."""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[int, RunDir]:
    """The same run with one, two and three kernels."""
    return {cpus: _run(tmp_path_factory.mktemp("parts"), CHAIN, cpus) for cpus in (1, 2, 3)}


def _run(place: Path, text: str, cpus: int, *arguments: str) -> RunDir:
    return only_run(_result(place, text, cpus, *arguments))


def _result(place: Path, text: str, cpus: int, *arguments: str) -> Path:
    scenario = place / "scenario.toml"
    scenario.write_text(text.replace("CPUS", str(cpus)))
    answer = netwarp("run", scenario, "--no-plots", "-o", place / "result", *arguments)
    assert answer.code == 0, answer.err
    return place / "result"


def _rows(run: RunDir, table: str, without: Collection[str] = ()) -> pl.DataFrame:
    """The rows of a table, sorted, with five-tuples in place of their numbers.

    Without packets that come after the run's end: recording ends some nanoseconds later.
    """
    rows = run.scan(table).collect()
    if table == "packets":
        rows = rows.filter(pl.col("enqueue_ns") < END_NS)
    if "tuple_id" in rows.columns and table != "tuples":
        rows = rows.join(run.scan("tuples").collect(), on="tuple_id", how="left")
    rows = rows.drop(set(rows.columns) & {*_NUMBERS, *without})
    return rows.sort(rows.columns)


@pytest.mark.parametrize("cpus", [2, 3])
def test_several_kernels_record_what_one_does(runs: dict[int, RunDir], cpus: int) -> None:
    _assert_equal(runs[1], runs[cpus])


@pytest.mark.nightly
def test_so_do_they_with_twenty_seeds(tmp_path: Path) -> None:
    results = []
    for cpus in (1, 2):
        (place := tmp_path / str(cpus)).mkdir()
        results.append(open_result(_result(place, CHAIN, cpus, "--seeds", "20")))
    runs = [[result.run(run.id) for run in result.planned] for result in results]
    # Each kernel has its own key of hashes: here and there two flows share a queue of fq_codel in one of them.
    alike = [(one, several) for one, several in zip(*runs, strict=True) if _queues(one) == _queues(several)]
    assert len(alike) >= 18
    for one, several in alike:
        # A packet may arrive at the nanosecond at which another leaves, and count it or not.
        _assert_equal(one, several, without={"length_pkts", "length_after_pkts", "backlog_bytes"})


def _queues(run: RunDir) -> list[tuple[int, ...]]:
    """The number of queues into which fq_codel put flows, at each interface."""
    states = run.scan("queue_states").filter(pl.col("handle").is_not_null())
    return states.group_by("interface_index").agg(pl.col("handle").n_unique()).sort("interface_index").collect().rows()


def _assert_equal(one: RunDir, several: RunDir, without: Collection[str] = ()) -> None:
    recorded = [table for table in TABLES if (one.path / f"{table}.arrows").exists()]
    assert {"packets", "acks", "arrivals", "flows", "wires", "interfaces", "pings", "queue_states"} <= set(recorded)
    for table in recorded:
        assert _rows(one, table, without).equals(_rows(several, table, without)), table
    differ = {name for name, _ in _at_the_end(one).items() ^ _at_the_end(several).items()}
    assert len(differ) <= 2
    same = ~pl.col("name").is_in(differ)
    assert one.metrics().filter(same).equals(several.metrics().filter(same))


def _at_the_end(run: RunDir) -> dict[str, int]:
    """How many packets each end got at the run's last nanosecond, which counts.

    What follows from a program's sleep until then may take a nanosecond more in another kernel, and is then a packet
    after the end (docs/parallel.md).
    """
    last = run.scan("packets").filter(enqueue_ns=END_NS).select("interface_index").collect()["interface_index"]
    return {end.name: last.to_list().count(end.interface_index) for end in run.description.ends}


@pytest.mark.parametrize("cpus", [2, 3])
def test_rows_are_in_order_of_time(runs: dict[int, RunDir], cpus: int) -> None:
    for table in ("acks", "arrivals", "queues", "links", "sockets"):
        assert runs[cpus].scan(table).collect()["time_ns"].is_sorted(), table
    packets = runs[cpus].scan("packets").collect()
    ended = packets.select(pl.coalesce("dequeue_ns", "drop_ns").fill_null(2**62)).to_series()
    assert ended.is_sorted()


def _captured(path: Path) -> list[tuple[int, ...]]:
    """The time, lengths and Ethernet header of each packet: TCP's sequence numbers and IP's begin where a kernel's key
    says."""
    content, at = path.read_bytes(), 24
    found: list[tuple[int, ...]] = []
    while at < len(content):
        head = struct.unpack_from("<IIII", content, at)
        found.append((*head, *content[at + 16 : at + 16 + 14]))
        at += 16 + head[2]
    return found


def test_captures_are_those_of_one_kernel(runs: dict[int, RunDir]) -> None:
    for name in ("second-r2.pcap", "exit-h2.pcap"):
        first, *others = (_captured(run.path / "captures" / name) for run in runs.values())
        assert len(first) > 1000
        assert all(other == first for other in others), name


def test_the_same_run_again_is_the_same_to_the_byte(runs: dict[int, RunDir], tmp_path: Path) -> None:
    """Whichever of its kernels the host lets run first."""
    with busy_host():
        again = _run(tmp_path, CHAIN, 2)
    assert read_digests(again.path) == read_digests(runs[2].path)


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ('delay = "5ms"', 'delay = "5ms"\njitter = "1ms"', "does not fall into 3 parts"),
        ('delay = "5ms"', "", "does not fall into 3 parts"),
        ('tool = "quic"', 'tool = "iperf3"', "flows of programs (iperf3) have one kernel"),
        ('tool = "quic"', 'tool = "mptcp"', "several subflows is recorded in one kernel"),
        ("cpus = CPUS", "cpus = 17", "must be at most 16"),
    ],
)
def test_what_cannot_be_divided_is_refused(tmp_path: Path, before: str, after: str, reason: str) -> None:
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(CHAIN.replace(before, after, 1).replace("CPUS", "3"))
    answer = netwarp("run", scenario, "--no-plots", "-o", tmp_path / "result")
    assert answer.code == 2
    assert "run.cpus" in answer.err
    assert reason in answer.err
    assert not (tmp_path / "result").exists()


def _kernels(command: int) -> list[int]:
    """The kernels that a command has started: children of its guards."""

    def children(pid: int) -> Iterator[int]:
        with contextlib.suppress(OSError):  # it has ended meanwhile
            for task in Path(f"/proc/{pid}/task").iterdir():
                yield from map(int, (task / "children").read_text().split())

    guards = list(children(command))
    return [
        kernel
        for guard in guards
        for kernel in children(guard)
        if (Path(f"/proc/{kernel}/exe").resolve().name == "linux")
    ]


def test_when_one_kernel_dies_the_run_fails_and_nothing_is_left(tmp_path: Path) -> None:
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(CHAIN.replace("CPUS", "2").replace('duration = "3s"', 'duration = "600s"'))
    command = subprocess.Popen(
        [NETWARP, "run", scenario, "--no-plots", "-o", tmp_path / "result"], stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 60
    kernels: list[int] = []
    while len(kernels) < 2 and time.monotonic() < deadline:
        time.sleep(0.1)
        kernels = _kernels(command.pid)
    assert len(kernels) == 2
    os.kill(kernels[1], signal.SIGKILL)
    _, said = command.communicate(timeout=60)
    assert command.returncode == 3
    assert "killed" in said
    assert not any(Path(f"/proc/{kernel}").exists() for kernel in kernels)
    (run,) = (tmp_path / "result/runs").iterdir()
    assert not (run / ".parts").exists()
