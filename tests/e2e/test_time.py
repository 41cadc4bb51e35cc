"""Progress of virtual time: computation and system calls do not move it, waiting does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from e2e_command import netwarp
from e2e_compile import compiled
from e2e_runs import Runs, only_run
from e2e_scenarios import FRAME_BYTES
from e2e_traffic import flow, pair
from netwarp.store.digests import read_digests
from netwarp.store.run_status import RunStatus
from netwarp.store.rundir import RunDir

T0_NS = 10_000_000_000
START = """
import os, time
os.environ["MPLCONFIGDIR"] = "FONTS"
print(time.monotonic_ns())
import matplotlib.pyplot
print(time.monotonic_ns())
for n in range(2_000):
    os.access(f"/no/such/file/{n}", os.R_OK)
print(time.monotonic_ns())
"""


def test_starting_and_failing_cost_no_time(runs: Runs, tmp_path: Path) -> None:
    """Python's start, its look for a thousand files that are not there, and 2,000 calls that fail: 0 ns.

    (1 us for each failing call before: which files the host has moved the clock, by 240 ms for matplotlib. Without a
    list of fonts matplotlib makes one, and reads the clock 10,000 times meanwhile, which does take time.)
    """
    fonts = {**os.environ, "MPLCONFIGDIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", "import matplotlib.font_manager"], env=fonts, check=True)
    (tmp_path / "start.py").write_text(START.replace("FONTS", str(tmp_path)))
    run = runs(
        pair(flow("start", "command", f'client = ["{sys.executable}", "{tmp_path}/start.py"]')), "--read", str(tmp_path)
    )
    told = (run.path / "start-client.out").read_text().split()
    begin, imported, failed = (int(ns) - T0_NS for ns in told)
    assert (begin, imported, failed) == (0, 0, 0)


KINDS = ("getpid", "times", "yield", "poll", "masked", "ready", "read", "wait", "nap", "fork", "clock")
BESIDE = flow("bulk", "bulk")


def _spinners(program: Path) -> str:
    """A program of each kind that spins for a second, one after the other, beside a TCP flow."""
    flows = [
        flow(kind, "command", f'client = ["{program}", "{kind}"]', f'start = "{1 + 2 * number}s"')
        for number, kind in enumerate(KINDS)
    ]
    return pair(
        "".join(flows) + BESIDE, duration=f"{2 + 2 * len(KINDS)}s", router=True, tail="[record]\nexact = true\n"
    )


@pytest.fixture(scope="module")
def spins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(Path(__file__).with_name("spins.c"), tmp_path_factory.mktemp("spins") / "spins")


@pytest.fixture(scope="module")
def spun(runs: Runs, spins: Path) -> RunDir:
    return runs(_spinners(spins), "--read", str(spins))


@pytest.mark.parametrize("kind", KINDS)
def test_a_program_that_spins_gets_on(spun: RunDir, kind: str) -> None:
    """A timer of a second ends each. What is free comes first (1,000 calls that were for nothing, 10,000 questions that
    told the same again or sleeps of a nanosecond, 100,000 others), then each call costs a thousandth of the time since
    the program last waited, 1 to 100 us: 15,600 calls a second. Of readings of the clock 200,000 cost 50 ns each, then
    a 1,024th of the time: two of these until it is told."""
    calls, late_ns = map(int, (spun.path / f"{kind}-client.out").read_text().split())
    free = {"getpid": 100_000, "ready": 10_000, "nap": 10_000}.get(kind, 1_000)
    if kind == "fork":
        assert 100 < calls < 10_000, "each is a process with its own calls"
    elif kind == "clock":
        assert 203_000 < calls < 206_000
    else:
        assert free + 9_000 < calls < free + 17_000
    assert 0 <= late_ns <= {"fork": 20_000_000, "clock": 2_000_000}.get(kind, 300_000), (
        "a few calls; of a fork, some hundred"
    )


@pytest.mark.parametrize(("kind", "free"), [("yield", 1_000), ("nap", 10_000)])
def test_programs_that_spin_together_get_on(runs: Runs, spins: Path, kind: str, free: int) -> None:
    """Each is charged as if it were alone: while it gives way, another's charge does not count as its wait."""
    together = [f"{kind}{number}" for number in range(4)]
    programs = [flow(name, "command", f'client = ["{spins}", "{kind}"]', 'start = "1s"') for name in together]
    run = runs(pair("".join(programs), duration="3s"), "--read", str(spins))
    told = [tuple(map(int, (run.path / f"{name}-client.out").read_text().split())) for name in together]
    assert sum(calls for calls, _ in told) < len(told) * free + 17_000
    assert all(0 <= late_ns <= 500_000 for _, late_ns in told)


def test_no_packet_waits_for_who_spins(spun: RunDir) -> None:
    """Each leaves its queue when it comes, or when the one before it has left the line."""
    leaving = spun.scan("packets").filter(pl.col("dequeue_ns").is_not_null()).sort("dequeue_ns").collect()
    links = [one for _, one in leaving.group_by("interface_index") if one["packet_bytes"].median() == FRAME_BYTES]
    speeds = set()
    for link in links:
        gaps = link.select("packet_bytes", gap=pl.col("dequeue_ns").diff().shift(-1))
        least_ns = gaps.filter(packet_bytes=FRAME_BYTES)["gap"].min()
        assert isinstance(least_ns, int)
        ns_per_byte = least_ns / FRAME_BYTES
        free_ns = (pl.col("dequeue_ns") + pl.col("packet_bytes") * ns_per_byte).shift()
        late_ns = link.select(pl.col("dequeue_ns") - pl.max_horizontal("enqueue_ns", free_ns)).to_series()
        assert late_ns.drop_nulls().unique().to_list() == [0]
        speeds.add(ns_per_byte)
    assert speeds == {8, 800}, "1 Gbit/s and 10 Mbit/s"


def test_spinning_is_repeatable(spun: RunDir, spins: Path, tmp_path: Path) -> None:
    (tmp_path / "again.toml").write_text(_spinners(spins))
    assert netwarp("run", tmp_path / "again.toml", "--no-plots", "-o", tmp_path / "again", "--read", spins).code == 0
    assert read_digests(only_run(tmp_path / "again").path) == read_digests(spun.path)


@pytest.mark.parametrize("change", ["record.exact=false", 'record.sample="10ms"'])
def test_recording_does_not_move_who_spins(runs: Runs, spun: RunDir, spins: Path, change: str) -> None:
    other = runs(_spinners(spins), "--set", change, "--read", str(spins))
    for kind in KINDS:
        name = f"{kind}-client.out"
        assert (other.path / name).read_text() == (spun.path / name).read_text(), kind
    accounts = [run.scan("flows").collect() for run in (spun, other)]
    assert accounts[0].equals(accounts[1])


def _failure(tmp_path: Path, client: list[str], limit: str, duration: str) -> str:
    """The reason of a run whose program never ends."""
    (tmp_path / "late.toml").write_text(
        pair(flow("late", "command", f"client = {json.dumps(client)}"), duration=duration)
    )
    result = tmp_path / "result"
    answer = netwarp("run", tmp_path / "late.toml", "--no-plots", "-o", result, "--set", f'run.time_limit="{limit}"')
    assert answer.code == 3
    status = only_run(result).status()
    assert status["status"] == RunStatus.FAILED
    return str(status["reason"])


def test_a_program_that_computes_for_ever_is_named(tmp_path: Path) -> None:
    program = ["python3", "-c", "import itertools; all(map(str, itertools.count()))"]
    reason = _failure(tmp_path, program, limit="50s", duration="1s")
    assert reason.startswith("a program computed for 5 s without a system call")
    assert "python3 (pid " in reason
    assert "ran at 0x" in reason
    assert "at 0 s of the run's time" in reason
    assert "its command: `python3 -c import itertools; all(map(str, itertools.count()))`" in reason


def test_the_time_limit_names_who_spins(tmp_path: Path) -> None:
    """It progresses slowly: a thousand seconds of it take longer than the limit."""
    program = ["python3", "-c", "import os; all(os.getpid() for _ in iter(int, 1))"]
    reason = _failure(tmp_path, program, limit="5s", duration="1000s")
    assert reason.startswith("it did not end within 5 s of its own time ([run] time_limit): python3 (pid ")
    assert "its command: `python3 -c import os; all(os.getpid() for _ in iter(int, 1))`" in reason


def test_the_machine_does_not_know_the_host(tmp_path: Path) -> None:
    """Its memory is the same each time, wherever the host would have put the kernel's heap; and it does not name the
    host."""
    text = pair(flow("look", "command", 'client = ["cat", "/proc/meminfo", "/proc/cpuinfo"]'), duration="1s")
    (tmp_path / "look.toml").write_text(text)
    totals = set()
    for number in range(4):
        result = tmp_path / str(number)
        assert netwarp("run", tmp_path / "look.toml", "--no-plots", "-o", result).code == 0
        told = (only_run(result).path / "look-client.out").read_text()
        totals.add(told.partition("\n")[0])
        assert "host" not in told
    assert len(totals) == 1
