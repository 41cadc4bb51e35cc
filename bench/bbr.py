"""BBR beside CUBIC over buffers, and through a step of the link's rate: the tables of docs/bbr.md.

`python -m bench.bbr [--seeds N] [KERNEL]` measures the gallery's BBR of the draft and, with the name of a kernel whose
`bbr` is Google's v3 (the page says how to build one), that as well, and prints the tables: the median of the seeds with
the lowest and the highest, which with six seeds is a 95 % interval of the median (1 - 2 / 2^6 = 96.9 %).
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import netwarp as nw
import polars as pl

from tests.e2e.e2e_scenarios import dumbbell

SEEDS = 6
BUFFERS_PKTS = {0.25: 21, 0.5: 41, 1: 83, 2: 165, 4: 330, 8: 660, 16: 1320}
"""Buffer sizes by their share of the BDP: 25 Mbit/s × 40 ms are 82.6 packets of 1,514 bytes."""
QUEUE = "links.bottleneck.queue"
FALL_S, RISE_S = 15.0, 45.0
LONG_MS = 200
_BIN_NS = 100_000_000
_SECOND_NS = 1_000_000_000
_NINETY_PERCENT_BYTES = 0.9 * 25e6 / 8 * _BIN_NS / _SECOND_NS

_FLOW = """
[flows.{name}]
from = "h1"
to = "h2"
tool = "bulk"
cc = "{cc}"
"""

Cell = tuple[float, float, float]
"""Median, lowest, highest."""


def beside_cubic(cc: str) -> str:
    """The scenario of one flow of each."""
    flows = _FLOW.format(name="bbr", cc=cc) + _FLOW.format(name="cubic", cc="cubic")
    return dumbbell(name="bbr-beside-cubic", rate="25mbit", delay="20ms", duration="60s", flows=flows)


def step(cc: str) -> str:
    """The scenario of one flow alone whose link falls to a fifth of its rate, and returns."""
    changes = "".join(
        f'[[changes]]\nat = "{at_s:g}s"\nlink = "bottleneck"\nrate = "{rate}"\n'
        for at_s, rate in ((FALL_S, "5mbit"), (RISE_S, "25mbit"))
    )
    flow, queue = _FLOW.format(name="bbr", cc=cc), f"pfifo limit {BUFFERS_PKTS[4]}"
    return dumbbell(name="bbr-step", rate="25mbit", delay="20ms", queue=queue, duration="65s", flows=flow, tail=changes)


def _made(scenario: str, folder: Path, seeds: int, kernel: str | None, **given: Any) -> nw.Study:
    file = folder / "scenario.toml"
    file.write_text(scenario)
    study = nw.run(file, seeds=seeds, kernel=kernel, output=folder / "result", **given)
    if study.failed:
        raise SystemExit(f"runs failed; see {folder / 'result'}")
    return study


def _experiments(folder: Path, cc: str, seeds: int, kernel: str | None) -> tuple[nw.Study, nw.Study]:
    """Both experiments with one control: beside CUBIC over all buffers, and through the step."""
    beside, alone = folder / "beside", folder / "step"
    beside.mkdir(parents=True)
    alone.mkdir()
    queues = [f"pfifo limit {limit}" for limit in BUFFERS_PKTS.values()]
    return (
        _made(beside_cubic(cc), beside, seeds, kernel, set={"warmup": "15s"}, sweep={QUEUE: queues}),
        _made(step(cc), alone, seeds, kernel),
    )


def _cell(values: Sequence[float]) -> Cell:
    return median(values), min(values), max(values)


def coexistence(study: nw.Study) -> dict[float, dict[str, Cell]]:
    """BBR's share (%), the queue's mean sojourn time (ms), and each flow's dropped packets, for each buffer."""
    wanted = {
        "share": ("bbr", "share_pct"),
        "wait": ("bottleneck:r1", "sojourn_ms_mean"),
        "drops": ("bbr", "drops"),
        "drops of CUBIC": ("cubic", "drops"),
    }
    rows: dict[float, dict[str, Cell]] = {}
    for share, limit in BUFFERS_PKTS.items():
        alike = study.summary.filter(pl.col(QUEUE) == f"pfifo limit {limit}")
        rows[share] = {
            words: _cell(alike.filter(name=name, metric=metric)["value"].to_list())
            for words, (name, metric) in wanted.items()
        }
    return rows


def reaction(run: nw.Run) -> dict[str, float]:
    """The reaction of one run to the step: waits in any queue, drops, and when the flow filled the link again."""
    packets, arrivals = run.scan("packets").collect(), run.scan("arrivals").collect()
    left = packets.filter(pl.col("dequeue_ns") > FALL_S * _SECOND_NS).with_columns(
        wait_ms=(pl.col("dequeue_ns") - pl.col("enqueue_ns")) / 1e6
    )
    before_the_rise = left.filter(pl.col("dequeue_ns") < RISE_S * _SECOND_NS)
    last_long = before_the_rise.filter(pl.col("wait_ms") > LONG_MS).select(pl.max("dequeue_ns")).item()
    bins = (
        arrivals.filter(pl.col("time_ns") >= RISE_S * _SECOND_NS)
        .group_by(bin=pl.col("time_ns") // _BIN_NS)
        .agg(pl.col("payload_bytes").sum())
        .filter(pl.col("payload_bytes") >= _NINETY_PERCENT_BYTES)
    )
    return {
        "longest wait after the fall, ms": float(before_the_rise.select(pl.max("wait_ms")).item()),
        f"from the fall to the last wait of more than {LONG_MS} ms, s": last_long / _SECOND_NS - FALL_S,
        "packets dropped until 45 s": float(packets.filter(pl.col("drop_ns") < RISE_S * _SECOND_NS)["segments"].sum()),
        "from the rise to 90 % of 25 Mbit/s, s": (bins.select(pl.min("bin")).item() + 1) * _BIN_NS / _SECOND_NS
        - RISE_S,
    }


def _printed(cell: Cell, digits: int = 0) -> str:
    middle, low, high = cell
    return f"{middle:.{digits}f} ({low:.{digits}f}–{high:.{digits}f})"


def _tables(controls: Mapping[str, tuple[nw.Study, nw.Study]]) -> None:
    beside = {name: coexistence(study) for name, (study, _) in controls.items()}
    for quantity in ("share", "wait", "drops", "drops of CUBIC"):
        print(f"\n| {quantity}; buffer, BDP | {' | '.join(controls)} |\n|{'---|' * (len(controls) + 1)}")
        for buffer in BUFFERS_PKTS:
            print(f"| {buffer:g} | {' | '.join(_printed(rows[buffer][quantity]) for rows in beside.values())} |")
    steps = {name: [reaction(run) for run in study.runs] for name, (_, study) in controls.items()}
    print(f"\n| step | {' | '.join(controls)} |\n|{'---|' * (len(controls) + 1)}")
    for quantity in next(iter(steps.values()))[0]:
        digits = 1 if quantity.endswith(", s") else 0
        cells = (_printed(_cell([run[quantity] for run in runs]), digits) for runs in steps.values())
        print(f"| {quantity} | {' | '.join(cells)} |")


def main() -> None:
    """Make both experiments for each control, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("kernel", nargs="?", help="a kernel whose `bbr` is Google's v3")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    options = parser.parse_args()
    controls: dict[str, tuple[str, str | None]] = {"draft": ("file:tcp_bbr_draft.c", None)}
    if options.kernel is not None:
        controls["Google's"] = ("bbr", options.kernel)
    with tempfile.TemporaryDirectory(prefix="netwarp-bbr-") as name:
        _tables(
            {
                words: _experiments(Path(name) / str(number), cc, options.seeds, kernel)
                for number, (words, (cc, kernel)) in enumerate(controls.items())
            }
        )


if __name__ == "__main__":
    main()
