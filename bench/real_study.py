"""The three-node study on three machines in real time, beside the same rows in virtual time.

`python -m bench.real_study PLACE [--seeds N] [--case NAME…]`, as root, writes `PLACE/real`, `PLACE/virtual`,
`PLACE/load.csv` and `PLACE/rows.csv`, and prints a table in Markdown; without a case, of the 24 published rows. The
machines are processes of this host (`real_machines`), so its load is measured beside them: a run in which a machine's
kernel waited for a processor is marked as disturbed.
"""

from __future__ import annotations

import argparse
import contextlib
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path

import polars as pl
from netwarp.store.result import open_result
from netwarp.studies.three_node.published import published
from netwarp.studies.three_node.tables import conditions_of

from bench.command import NETWARP
from bench.real_machines import Running, machines, missing

STEP_S = 0.2
SCENARIO = "three-node.toml"
MAX_WAITING = 0.01
"""The share of a run for which a machine's kernel may wait for a processor, before the run counts as disturbed."""
COLUMNS = ("tcp_avg_bw_Mbps", "tcp_avg_retrans", "ss_avg_rtt_ms", "tcp_fairness", "udp_avg_lost_pct")
HEADS = ("goodput, Mbit/s", "retransmissions", "smoothed RTT, ms", "Jain's index", "UDP lost, %")


@dataclass
class Load:
    """Samples of this host: the time (s since the epoch), the share of its processors that was busy, and for each
    machine the seconds for which its kernel has waited for a processor so far."""

    rows: list[dict[str, float]] = field(default_factory=list)

    def during(self, begin_s: float, end_s: float) -> tuple[float, float]:
        """The share of this time for which a machine's kernel waited (the largest of the machines), and the mean share
        of busy processors. Raises RuntimeError without samples."""
        rows = [row for row in self.rows if begin_s <= row["time_s"] <= end_s]
        if len(rows) < 2:
            raise RuntimeError("the load of this host was not sampled during a run")
        first, last = rows[0], rows[-1]
        waited = max(last[name] - first[name] for name in first if name not in ("time_s", "busy"))
        return waited / (last["time_s"] - first["time_s"]), sum(row["busy"] for row in rows) / len(rows)


@dataclass
class Marks:
    """The runs of a row: their number, those that netwarp calls suspect, those that were disturbed, and the largest
    shares of waiting and of busy processors."""

    runs: int = 0
    suspect: int = 0
    disturbed: int = 0
    waited: float = 0.0
    busy: float = 0.0

    def add(self, is_suspect: bool, waited: float, busy: float) -> None:
        """Count a run."""
        self.runs += 1
        self.suspect += is_suspect
        self.disturbed += waited > MAX_WAITING
        self.waited, self.busy = max(self.waited, waited), max(self.busy, busy)


@contextlib.contextmanager
def sampled(running: Running) -> Iterator[Load]:
    """Sample this host's load while the block runs."""
    load, over = Load(), threading.Event()

    def sample() -> None:
        before = _processors()
        while not over.wait(STEP_S):
            now = _processors()
            total = now[1] - before[1]
            row = {"time_s": time.time(), "busy": (now[0] - before[0]) / total if total else 0.0}
            before = now
            row |= {name: _waited_s(process.pid) for name, process in running.processes.items()}
            load.rows.append(row)

    thread = threading.Thread(target=sample)
    thread.start()
    try:
        yield load
    finally:
        over.set()
        thread.join()


def _processors() -> tuple[int, int]:
    """The ticks that all processors were busy, and all of their ticks (proc_stat(5))."""
    words = [int(word) for word in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    return sum(words) - words[3] - words[4], sum(words)


def _waited_s(pid: int) -> float:
    """The time for which a process was ready and had no processor (Documentation/scheduler/sched-stats.rst)."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) / 1e9
    except OSError:
        return 0.0


LAN = {
    "300mbit": "30mbit",
    "120mbit": "30mbit",
    "60mbit": "6mbit",
    "24mbit": "6mbit",
    "30mbit": "3mbit",
    "12mbit": "3mbit",
}
"""The rates of the study's LANs, and those of its UDP flows, which share them: here a LAN of 30 Mbit/s, since a machine
in real time cannot send 300 Mbit/s."""


def slower() -> str:
    """The text of the scenario `three-node`, with a LAN that machines in real time can fill."""
    shipped = resources.files("netwarp") / "studies/three_node/scenarios/three-node.toml"
    rate = re.compile(rf'(rate" ?= ?|^rate = )"({"|".join(LAN)})"', re.MULTILINE)
    return rate.sub(lambda found: f'{found[1]}"{LAN[found[2]]}"', shipped.read_text())


def real(place: Path, arguments: list[str]) -> Load:
    """Run the study on machines, into `place/real`, and return the host's load meanwhile."""
    with tempfile.TemporaryDirectory(prefix="netwarp-machines-") as directory, machines(Path(directory)) as running:
        shipped = resources.files("netwarp") / "studies/three_node/inventories/three-node.toml"
        inventory = Path(directory) / "three-node.toml"
        inventory.write_text(f'ssh_config = "{running.ssh_config}"\n{shipped.read_text()}')
        with sampled(running) as load:
            words = ["run", place / SCENARIO, "--engine", "ssh", "--inventory", inventory, "--no-plots"]
            _netwarp(running.prefix, [*map(str, words), *arguments, "-o", str(place / "real")])
    return load


def _netwarp(prefix: list[str], arguments: list[str]) -> None:
    """Run netwarp. A run that is suspect or failed, or an expectation that does not hold, is a finding."""
    done = subprocess.run([*prefix, str(NETWARP), *arguments], check=False, stdin=subprocess.DEVNULL)
    if done.returncode not in (0, 1, 3):
        raise RuntimeError(f"netwarp {arguments[0]} ended with exit code {done.returncode}")


def rows_of(place: Path, load: Load) -> pl.DataFrame:
    """One row for each row of the study and quantity: its values in real and in virtual time, each the mean over the
    seeds with minimum and maximum, and the marks of its runs in real time."""
    marks = _marks(place / "real", load)
    real_ones, virtual = (conditions_of(open_result(place / kind)) for kind in ("real", "virtual"))
    beside = {one.name: one for one in virtual}
    rows = []
    for own in real_ones:
        for column in COLUMNS:
            row: dict[str, object] = {"row": own.name, "quantity": column}
            for kind, one in (("real", own), ("virtual", beside.get(own.name))):
                values = one.of(column) if one else []
                row[kind] = sum(values) / len(values) if values else None
                row |= {f"{kind}_min": min(values, default=None), f"{kind}_max": max(values, default=None)}
            rows.append(row | vars(marks[own.name]))
    return pl.DataFrame(rows, infer_schema_length=None)


def _marks(result: Path, load: Load) -> Mapping[str, Marks]:
    found: dict[str, Marks] = {}
    opened = open_result(result)
    for planned in opened.planned:
        run = opened.run(planned.id)
        status = run.status()
        end_s = (run.path / "status.json").stat().st_mtime
        waited, busy = load.during(end_s - float(status["real_s"] or 0), end_s)
        found.setdefault(str(planned.point["case"]), Marks()).add(status["status"] != "ok", waited, busy)
    return found


def table(rows: pl.DataFrame) -> str:
    """The rows as a table in Markdown: real / virtual in each cell."""
    lines = [f"| row | {' | '.join(HEADS)} | |", f"|---|{'---|' * (len(HEADS) + 1)}"]
    for (name,), of_row in rows.group_by("row", maintain_order=True):
        cells = [f"{_text(cell['real'])} / {_text(cell['virtual'])}" for cell in of_row.iter_rows(named=True)]
        one = of_row.row(0, named=True)
        mark = f"waited {one['waited']:.1%}" + (", disturbed" if one["disturbed"] else "")
        lines.append(f"| `{name}` | {' | '.join(cells)} | {mark + (', suspect' if one['suspect'] else '')} |")
    return "\n".join(lines)


def _text(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}"


def main() -> int:
    """Measure, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("place", type=Path)
    parser.add_argument("--seeds", default="1")
    parser.add_argument("--case", action="append", default=[])
    options = parser.parse_args()
    if reason := missing():
        print(f"cannot start machines in real time: {reason}", file=sys.stderr)
        return 2
    options.place.mkdir(parents=True, exist_ok=True)
    chosen = [word for name in options.case or published() for word in ("--case", name)]
    (options.place / SCENARIO).write_text(slower())
    load = real(options.place, [*chosen, "--seeds", options.seeds])
    pl.DataFrame(load.rows).write_csv(options.place / "load.csv")
    _netwarp([], ["run", str(options.place / SCENARIO), "--no-plots", *chosen, "-o", str(options.place / "virtual")])
    rows = rows_of(options.place, load)
    rows.write_csv(options.place / "rows.csv")
    print(table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
