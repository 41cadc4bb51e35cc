"""The assignments' bufferbloat laboratory as Mininet scripts, compared with the shipped scenario on the same path."""

from __future__ import annotations

import re
import shutil
import statistics
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest
from e2e_command import netwarp
from e2e_exec import once, twice
from e2e_runs import only_run
from netwarp.store.run_status import RunStatus
from netwarp.store.rundir import RunDir

LAB = Path(__file__).with_name("bufferbloat_lab")
PYTHON = "/usr/bin/python3"
"""The interpreter with the distribution's Mininet."""

DURATION_S = 30
SETTLED_S = 4
"""Slow start and the recovery from it are over. Within a second of the end the sender has nothing more to send."""
FRAME_MS = 1514 * 8 / 10e6 * 1e3
RECOVERY = 3
START_S = datetime(2026, 1, 1, 0, 1, tzinfo=UTC).timestamp()
"""Start of the command by its clock, from which the records' times count."""

DELAY_MS = round((15 - FRAME_MS) / 2, 1)
"""Each way, of the shipped scenario's bottleneck. Mininet's r1-eth1 delays packets by netem below htb, so that a
packet waits for its turn and for its 5 ms at the same time: with five packets in the queue they add nothing, and of
20 ms the path has 15. A wire of netwarp takes a frame's time for each frame; Mininet's has no rate."""


AT_ONCE = ("--start-time", "0")
"""The monitors note when they start ss and tc, which sample at that instant only if starts take no time."""


@dataclass(frozen=True)
class Sawtooth:
    """A bulk flow and its bottleneck's queue over whole periods, from one loss to another."""

    first_peak_pkts: float
    period_s: float
    goodput_mbps: float
    rtt_ms_mean: float
    rtt_ms_range: tuple[float, float]
    cwnd_pkts_range: tuple[float, float]
    length_pkts_mean: float
    length_pkts_max: float
    begin_ns: int
    end_ns: int


def acks_of_bulk(run: RunDir) -> pl.DataFrame:
    """The ACKs of the flow that sent most."""
    acks = run.scan("acks").collect()
    bulk, _ = acks.group_by("tuple_id").agg(pl.max("bytes_acked")).sort("bytes_acked").row(-1)
    return acks.filter(tuple_id=bulk)


def queue_of(run: RunDir, interface: str) -> pl.DataFrame:
    """The packets in an interface's queue."""
    index = next(end.interface_index for end in run.description.ends if end.name == interface)
    return run.scan("packets").filter(interface_index=index).collect()


def sawtooth(run: RunDir, interface: str) -> Sawtooth:
    """The sawtooth of the largest flow."""
    acks = acks_of_bulk(run)
    is_loss = (pl.col("ca_state") == RECOVERY) & (pl.col("ca_state").shift(1) != RECOVERY)
    first, last = (acks["time_ns"][0] + seconds * 10**9 for seconds in (SETTLED_S, DURATION_S - 1))
    losses = acks.filter(is_loss & pl.col("time_ns").is_between(first, last))["time_ns"]
    assert len(losses) >= 4, losses
    begin_ns, end_ns = losses[0], losses[-1]
    within = acks.filter(pl.col("time_ns").is_between(begin_ns, end_ns))
    packets = queue_of(run, interface).filter(pl.col("enqueue_ns").is_between(begin_ns, end_ns))
    rtt_ms, cwnd, length = within["rtt_us"].drop_nulls() / 1e3, within["snd_cwnd_pkts"], packets["length_pkts"]
    return Sawtooth(
        first_peak_pkts=max(acks["snd_cwnd_pkts"]),
        period_s=(end_ns - begin_ns) / 1e9 / (len(losses) - 1),
        goodput_mbps=(within["bytes_acked"][-1] - within["bytes_acked"][0]) * 8e3 / (end_ns - begin_ns),
        rtt_ms_mean=statistics.mean(rtt_ms),
        rtt_ms_range=(min(rtt_ms), max(rtt_ms)),
        cwnd_pkts_range=(min(cwnd), max(cwnd)),
        length_pkts_mean=statistics.mean(length),
        length_pkts_max=max(length),
        begin_ns=begin_ns,
        end_ns=end_ns,
    )


def shipped(place: Path, maxq: int, *, offload: bool) -> RunDir:
    """`bufferbloat` with this limit, Reno and the path of the assignments."""
    values = {
        "links.bottleneck.queue": f'"pfifo limit {maxq}"',
        "flows.bulk.cc": "reno",
        "links.bottleneck.delay": f"{DELAY_MS}ms",
        "links.access.offload": str(offload).lower(),
        "links.bottleneck.offload": str(offload).lower(),
        "duration": f"{DURATION_S}s",
    }
    settings = [word for name, value in values.items() for word in ("--set", f"{name}={value}")]
    # Not succeed(): the scenario's expectation of a window is for a longer path.
    answer = netwarp("run", "bufferbloat", "--no-plots", "-o", place / "shipped", *settings)
    run = only_run(place / "shipped")
    assert run.status()["status"] == RunStatus.OK, answer.err
    return run


def pings_ms(text: str) -> list[tuple[float, float]]:
    """The time of sending and the RTT of each ping."""
    return [(float(at), float(rtt)) for at, rtt in re.findall(r"(?m)^\[([\d.]+)\].* time=([\d.]+) ms", text)]


def samples(path: Path) -> list[tuple[int, int]]:
    """The time of each sample, by the records' clock in ns, and its value."""
    pairs = (line.split(",") for line in path.read_text().splitlines())
    return [(round((float(at) - START_S) * 1e6) * 1000, int(value)) for at, value in pairs]


def check_samples(run: RunDir, own: Path) -> None:
    """The output of ss and tc matches the records at that time; they sample a few µs after it was noted."""
    acks, packets = acks_of_bulk(run), queue_of(run, "r1:r1-eth1")
    packets = packets.with_columns(end_ns=pl.coalesce("dequeue_ns", "drop_ns"))
    differences: dict[str, list[int]] = {"cwnd": [], "qlen": []}
    for at_ns, printed in samples(own / "cwnd.txt"):
        before = acks.filter(pl.col("time_ns") <= at_ns)["snd_cwnd_pkts"]
        differences["cwnd"] += [printed - before[-1]] if len(before) else []
    for at_ns, printed in samples(own / "qlen.txt"):
        there = (pl.col("enqueue_ns") <= at_ns) & (pl.col("end_ns") > at_ns)
        differences["qlen"].append(printed - packets.filter(there).height)
    for name, found in differences.items():
        assert len(found) >= DURATION_S * 2 - 2, name
        assert max(map(abs, found)) <= 2, (name, found)
        assert found.count(0) >= 0.9 * len(found), (name, found)


@pytest.mark.parametrize(("maxq", "offload"), [(100, False), pytest.param(40, True, marks=pytest.mark.nightly)])
def test_the_script_agrees_with_the_shipped_scenario(maxq: int, offload: bool, tmp_path: Path) -> None:
    """Window, queue, RTT and goodput, over whole periods of the sawtooth.

    With Mininet's offloads a place in the queue holds two or three segments. How many the first ones hold depends on
    how large a piece a program writes at once, and so does the first peak.
    """
    shutil.copytree(LAB, tmp_path / "work")
    options = ["--maxq", str(maxq), "--duration", str(DURATION_S), "--period", "0.5"]
    options += [] if offload else ["--no-offload"]
    # That a script of Mininet repeats itself has a shorter test (test_exec_programs.py), and at night this one.
    ran = twice if offload else once
    made = ran(tmp_path, PYTHON, "reproduce_bufferbloat.py", *options, options=AT_ONCE)
    script = sawtooth(RunDir(made), "r1:r1-eth1")
    other_run = shipped(tmp_path, maxq, offload=offload)
    other = sawtooth(other_run, "bottleneck:r1")

    assert script.first_peak_pkts == pytest.approx(other.first_peak_pkts, rel=0.1 if offload else 0.01)
    assert script.period_s == pytest.approx(other.period_s, rel=0.02)
    assert script.goodput_mbps == pytest.approx(other.goodput_mbps, rel=1e-4)
    # Minimum and maximum: a loss comes one or two packets earlier or later.
    piece = 2 if offload else 1
    assert script.rtt_ms_mean == pytest.approx(other.rtt_ms_mean, rel=0.005)
    assert script.rtt_ms_range == pytest.approx(other.rtt_ms_range, abs=2 * piece * FRAME_MS)
    assert script.cwnd_pkts_range == pytest.approx(other.cwnd_pkts_range, abs=piece)
    assert script.length_pkts_mean == pytest.approx(other.length_pkts_mean, rel=0.01)
    assert script.length_pkts_max == pytest.approx(other.length_pkts_max, abs=piece)

    # Output of the script's own tools.
    files = made / "files"
    printed = re.findall(r"([\d.]+) Mbits/sec", (files / "iperf_result.txt").read_text())
    assert float(printed[-1]) == pytest.approx(other.goodput_mbps, abs=0.02)
    check_samples(RunDir(made), files / f"qlen-{maxq}")
    begin_s, end_s = START_S + script.begin_ns / 1e9, START_S + script.end_ns / 1e9
    pings = pings_ms((files / f"qlen-{maxq}/rtt.txt").read_text())
    script_ms = [rtt for at, rtt in pings if begin_s <= at <= end_s]
    others = other_run.scan("pings").filter(pl.col("sent_ns").is_between(other.begin_ns, other.end_ns)).collect()
    assert len(script_ms) > 100
    # Ten samples a second of a queue that changes all the time, at other moments each.
    assert statistics.mean(script_ms) == pytest.approx(statistics.mean(others["rtt_ns"].drop_nulls()) / 1e6, rel=0.03)


@pytest.fixture(scope="module")
def mitigated(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[float]]:
    """The RTTs in ms with each queue discipline while the rate changes, in order."""
    found = {}
    for name in ("taildrop", "red", "codel"):
        place = tmp_path_factory.mktemp(name)
        shutil.copytree(LAB, place / "work")
        ran = twice if name == "codel" else once
        made = ran(place, PYTHON, "mitigate_bufferbloat.py", "-a", name, "--duration", str(DURATION_S), options=AT_ONCE)
        found[name] = sorted(rtt for _, rtt in pings_ms((made / f"files/{name}/rtt.txt").read_text()))
        assert len(found[name]) > DURATION_S * 10 / 2, name
    return found


def test_the_script_of_the_mitigation_orders_the_disciplines(mitigated: dict[str, list[float]]) -> None:
    """The order of the assignments and of the shipped `mitigate`: CoDel's RTT is lowest and nearly flat, RED's is
    between, tail drop's is seconds."""
    p95 = {name: rtts[len(rtts) * 95 // 100] for name, rtts in mitigated.items()}
    assert p95["codel"] < p95["red"] < p95["taildrop"]
    assert p95["codel"] < 150
    assert p95["taildrop"] > 2000
