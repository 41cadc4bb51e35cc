"""How cost grows: the time of commands at three times the size over that at the size. Linear is 3, quadratic 9; for
stars, whose size grows tenfold, linear is 10."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from netwarp.analysis.run.metrics import analyse_run
from netwarp.analysis.run.validity import check_run

from bench import scenarios
from bench.command import children_cpu_s, clocked, peak_mb, timed
from bench.row import Row, measure
from tests.e2e.e2e_networks import chain, star, tree

RUNS = (100, 300, 900)
FLOWS = (100, 300, 900)
NODES = (50, 150, 450)
HOSTS = (10, 100, 1000)
MINUTES = (10, 30)


@measure
def growth_of_results(place: Path) -> Iterator[Row]:
    """Commands over a result of many short runs."""
    place.mkdir(parents=True)
    commands = {
        "export --format csv": ("export", "--format", "csv"),
        "report": ("report", "--no-plots"),
        "plot": ("plot",),
    }
    taken: dict[str, list[float]] = {name: [] for name in ("run", "run, all there already", *commands)}
    for count in RUNS:
        (place / "short.toml").write_text(scenarios.short())
        made = ("run", str(place / "short.toml"), "--seeds", str(count), "--no-plots", "-o", str(place / str(count)))
        taken["run"].append(clocked(*made))
        taken["run, all there already"].append(clocked(*made))
        for name, words in commands.items():
            taken[name].append(clocked(words[0], str(place / str(count)), *words[1:]))
    yield from _rows(taken, RUNS, "runs")


@measure
def growth_of_networks(place: Path) -> Iterator[Row]:
    """Time `show` for scenarios of many nodes, and runs of the large ones."""
    place.mkdir(parents=True)
    taken: dict[str, list[float]] = {"show of a chain": []}
    for count in NODES:
        (place / "chain.toml").write_text(chain(count, reach=40))
        taken["show of a chain"].append(clocked("show", str(place / "chain.toml")))
    yield from _rows(taken, NODES, "nodes")
    for name, text in (("a star of 500", star(500)), ("a tree of 157", tree()), ("a chain of 500", chain(500))):
        (place / "large.toml").write_text(text)
        yield Row(
            f"{name} nodes, 2 s", clocked("run", str(place / "large.toml"), "--no-plots", "-o", str(place / name))
        )


@measure
def growth_of_stars(place: Path) -> Iterator[Row]:
    """CPU time of `show` and of a machine, nearly all of which sets it up, for stars of more and more hosts."""
    taken: dict[str, list[float]] = {"CPU of show of a star": [], "CPU of the machine of a star": []}
    shown, machine = taken.values()
    for hosts in HOSTS:
        run = timed(scenarios.star(hosts), place / str(hosts), "--no-plots")
        machine.append(run.cpu_s)
        before = children_cpu_s()
        clocked("show", str(place / str(hosts) / "scenario.toml"))
        shown.append(children_cpu_s() - before)
    yield from _rows(taken, HOSTS, "hosts")


@measure
def growth_of_flows(place: Path) -> Iterator[Row]:
    """CPU time of a run's check and metrics as its flows grow in number, with nearly as many packets."""
    taken: dict[str, list[float]] = {"CPU of the check": [], "CPU of the metrics": []}
    for count in FLOWS:
        run = timed(scenarios.many_flows(count, exact=True), place / str(count), "--no-plots").runs[0]
        for name, work in zip(taken, (check_run, analyse_run), strict=True):
            begin = time.process_time()
            work(run.path)
            taken[name].append(time.process_time() - begin)
    yield from _rows(taken, FLOWS, "flows")


@measure
def growth_of_durations(place: Path) -> Iterator[Row]:
    """Memory of commands over runs of more and more minutes at 20 Mbit/s: it should hardly grow."""
    place.mkdir(parents=True)
    commands = {
        "report": ("report",),
        "plot of a distribution": ("plot", "--metric", "queue.sojourn_ms"),
        "export --format flent": ("export", "--format", "flent"),
        "export --format parquet": ("export", "--format", "parquet"),
    }
    taken: dict[str, list[float]] = {name: [] for name in ("run", *commands)}
    for minutes in MINUTES:
        text = scenarios.dumbbell(
            rate="20mbit", duration=f"{minutes}min", queue="pfifo limit 100", flow='tool = "bulk"', exact=True
        )
        (place / "long.toml").write_text(text)
        result = str(place / str(minutes))
        taken["run"].append(peak_mb("run", str(place / "long.toml"), "--no-plots", "-o", result))
        for name, (word, *options) in commands.items():
            taken[name].append(peak_mb(word, result, *options))
    for name, peaks in taken.items():
        yield Row(f"memory of {name}: {MINUTES[-1]} minutes at 20 Mbit/s", peaks[-1], 600, unit="MB")
        yield Row(f"  {MINUTES[-1]} minutes over {MINUTES[0]}", peaks[-1] / peaks[0], unit="×")


def _rows(taken: dict[str, list[float]], sizes: tuple[int, ...], what: str) -> Iterator[Row]:
    for name, seconds in taken.items():
        yield Row(f"{name}: {sizes[-1]} {what}", seconds[-1])
        for (few, less), (many, more) in pairwise(zip(sizes, seconds, strict=True)):
            yield Row(f"  {many} {what} over {few}", more / less, unit="×")
