"""Runs, sweeps, and the time before their first run."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from netwarp.plan import make_plan
from netwarp.scenario.load.loader import parse_scenario

from bench import scenarios
from bench.command import Timed, clocked, machine_peak_mb, timed
from bench.row import Row, measure

REPEATS = 3


def _repeated(scenario: str, place: Path, *arguments: str) -> Timed:
    """Return the run with the median time of several."""
    all_of_them = [timed(scenario, place / str(number), *arguments) for number in range(REPEATS)]
    return sorted(all_of_them, key=lambda one: one.seconds)[REPEATS // 2]


@measure
def ten_megabits(place: Path) -> Iterator[Row]:
    """Time one run of a minute."""
    whole = _repeated(scenarios.ten_megabits(), place / "plain", "--no-plots")
    yield Row("60 s at 10 Mbit/s, exact, whole command", whole.seconds, 0.8, virtual_s=60, packets=whole.packets)
    yield _engine(whole, 60, 0.5)
    drawn = _repeated(scenarios.ten_megabits(), place / "drawn")
    yield Row("  with figures", drawn.seconds, 4, virtual_s=60, packets=drawn.packets)


def _engine(run: Timed, virtual_s: float, bar: float | None = None) -> Row:
    name = "  the engine alone, boot to power-off"
    return Row(name, run.engine_s, bar, virtual_s=virtual_s, packets=run.packets, cpu_s=run.cpu_s)


@measure
def gigabit(place: Path) -> Iterator[Row]:
    """Time a fast link."""
    for exact, bar in ((False, 8.0), (True, 20.0)):
        run = timed(scenarios.gigabit(exact), place / str(exact), "--no-plots")
        name = f"10 s at 1 Gbit/s, {'exact' if exact else 'sampled'}, whole command"
        yield Row(name, run.seconds, bar, virtual_s=10, packets=run.packets)
        yield _engine(run, 10)


@measure
def sweep(place: Path) -> Iterator[Row]:
    """Time the shipped scenario, and the rate of runs in a longer sweep."""
    seconds = clocked("run", "bufferbloat", "-o", str(place / "bufferbloat"))
    yield Row("bufferbloat: 10 runs of 60 s and their figures", seconds, 24, virtual_s=600)
    count = 20
    runs = timed(scenarios.ten_megabits(seeds=count), place / "seeds", "--no-plots")
    rate = count / runs.seconds * 60
    yield Row(f"{count} runs of 60 s at 10 Mbit/s, analysed", rate, 300, "runs/min", more_is_better=True)


@measure
def flows(place: Path) -> Iterator[Row]:
    """Measure the cost of a packet as flows grow in number."""
    for count in (1, 100, 1000):
        run = timed(scenarios.many_flows(count), place / str(count), "--no-plots")
        yield Row(f"10 s at 100 Mbit/s, flows: {count}", run.seconds, virtual_s=10, packets=run.packets)
        yield _engine(run, 10)
        million = 1e6 / run.packets
        yield Row("  the engine for a million packets", run.engine_s * million, cpu_s=run.cpu_s * million)


@measure
def flow_setup(place: Path) -> Iterator[Row]:
    """Measure the engine's CPU time for a flow without its packets, and for a row of `packets` of many flows."""

    def ran(count: int, duration: str, more: str = "") -> tuple[float, int]:
        """The CPU seconds, and the rows of `packets`."""
        flow = f'tool = "bulk"\ncount = {count}\n{more}'
        text = scenarios.dumbbell(rate="100mbit", duration=duration, queue="pfifo limit 167", flow=flow, exact=True)
        run = _repeated(text, place / f"{count}-{duration}-{len(more)}", "--no-plots")
        return run.cpu_s, run.runs[0].length("packets")

    many = 1000
    begun, whole = ({count: ran(count, duration) for count in (1, many)} for duration in ("0.2s", "20s"))
    row_s = {n: (whole[n][0] - begun[n][0]) / (whole[n][1] - begun[n][1]) for n in (1, many)}
    one, all_of_them = (ran(count, "0.2s", 'bytes = "1B"') for count in (1, many))
    packets_s = (all_of_them[1] - one[1]) * row_s[many]
    each_ms = (all_of_them[0] - one[0] - packets_s) / (many - 1) * 1e3
    yield Row(f"a flow of one byte, of {many}, of a CPU, its packets left out", each_ms, 0.1, "ms")
    yield Row(f"a row of packets of {many} flows / of one, set-up left out", row_s[many] / row_s[1], 1.5, "×")


@measure
def flow_memory(place: Path) -> Iterator[Row]:
    """Measure the host's memory for a flow, its packets left out."""
    peaks = {}
    for count in (1000, 3000):
        flow = f'tool = "bulk"\ncount = {count}\nbytes = "1B"\n'
        text = scenarios.dumbbell(rate="100mbit", duration="0.2s", queue="pfifo limit 167", flow=flow, exact=True)
        peaks[count] = machine_peak_mb(text, place / str(count))
    yield Row("a flow of one byte, of 3000, of the host's memory", (peaks[3000] - peaks[1000]) / 2000 * 1024, 20, "kB")


@measure
def datagrams(place: Path) -> Iterator[Row]:
    """Time UDP flows."""
    for exact in (False, True):
        run = timed(scenarios.datagrams(exact), place / str(exact), "--no-plots")
        name = f"10 s of 10 cbr flows at 20 Mbit/s, {'exact' if exact else 'sampled'}"
        yield Row(name, run.seconds, 2, virtual_s=10, packets=run.packets)


@measure
def without_runs(place: Path) -> Iterator[Row]:
    """Time the commands' work before the first run."""
    text = scenarios.ten_thousand_runs()
    begin = time.perf_counter()
    plan = make_plan(parse_scenario(text))
    yield Row(f"a plan of {len(plan):,} runs", time.perf_counter() - begin, 2)
    yield Row("netwarp --help", median(clocked("--help") for _ in range(5)), 0.3)
