"""Copa's queue over a grid of paths: alone and with a second Copa, within a factor of two of the paper's law.

`python -m bench.copa [SEEDS]` runs the grid (three seeds by default), prints the means in packets beside the law, and
exits with 1 if one of them is outside. The law: the queue swings between 0 and 2.5 packets for each of 1/delta of all
senders (NSDI 2018, section 3), so with delta = 0.5 its mean is 2.5 packets for each sender.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import polars as pl
from netwarp.store.result import open_result

NETWARP = Path(sys.executable).parent / "netwarp"
SEEDS = 3
RATES_MBIT = (3, 5, 8, 12, 20, 50, 100)
ONE_WAY_MS = (5, 10, 20, 40)
LAW_PKTS = 2.5
"""Mean for each sender: 1.25 for each of 1/delta = 2."""
FACTOR = 2.0
RATE, DELAY, COUNT = "links.bottleneck.rate", "links.bottleneck.delay", "flows.copa.count"


def scenario(rates_mbit: tuple[int, ...] = RATES_MBIT, one_way_ms: tuple[int, ...] = ONE_WAY_MS) -> str:
    """The grid as a scenario; its buffer holds more than any path does, so that it limits no window."""
    return f"""
name = "copa-grid"
duration = "30s"
warmup = "10s"
[nodes]
h1 = {{}}
r1 = {{ forward = true }}
h2 = {{}}
[links.access]
ends = ["h1", "r1"]
rate = "1gbit"
[links.bottleneck]
ends = ["r1", "h2"]
rate = "10mbit"
queue = "pfifo limit 1000"
[flows.copa]
from = "h1"
to = "h2"
tool = "bulk"
cc = "file:tcp_copa.c"
[sweep]
"{RATE}" = {[f"{rate}mbit" for rate in rates_mbit]}
"{DELAY}" = {[f"{delay}ms" for delay in one_way_ms]}
"{COUNT}" = [1, 2]
"""


def queues(result: Path) -> pl.DataFrame:
    """Each run's point and seed, its mean queue in packets (`mean`) and that over the law's (`ratio`)."""
    measured = open_result(result).summary().filter(metric="length_pkts_mean", name="bottleneck:r1")
    return measured.select(
        RATE, DELAY, COUNT, "seed", mean="value", ratio=pl.col("value") / (LAW_PKTS * pl.col(COUNT).cast(pl.Float64))
    )


def outside(measured: pl.DataFrame) -> pl.DataFrame:
    """The runs whose queue is not within a factor of two of the law's."""
    return measured.filter(~pl.col("ratio").is_between(1 / FACTOR, FACTOR))


def _cells(measured: pl.DataFrame, senders: int, rate: int) -> Iterator[str]:
    alike = measured.filter(pl.col(RATE) == f"{rate}mbit", pl.col(COUNT).cast(pl.Int64) == senders)
    for delay in ONE_WAY_MS:
        means = alike.filter(pl.col(DELAY) == f"{delay}ms")["mean"].to_list()
        yield f"{2 * delay} ms {min(means):.1f} – {max(means):.1f}"


def main() -> int:
    """Run the grid, print it, and report points outside."""
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else SEEDS
    with tempfile.TemporaryDirectory(prefix="netwarp-copa-") as name:
        file, result = Path(name) / "grid.toml", Path(name) / "result"
        file.write_text(scenario())
        subprocess.run([NETWARP, "run", file, "--seeds", str(seeds), "--no-plots", "-o", result], check=True)
        measured = queues(result)
    for senders in (1, 2):
        print(f"{senders} × Copa, mean queue in packets (lowest – highest); the law: {LAW_PKTS * senders:g}")
        for rate in RATES_MBIT:
            print(f"  {rate} Mbit/s: {'; '.join(_cells(measured, senders, rate))}")
    wrong = outside(measured)
    for run in wrong.iter_rows(named=True):
        print(f"outside: {run[RATE]}, {run[DELAY]}, {run[COUNT]} senders, seed {run['seed']}: {run['mean']:.1f}")
    print(f"{wrong.height} of {measured.height} runs are outside a factor of {FACTOR:g}")
    return 1 if wrong.height else 0


if __name__ == "__main__":
    sys.exit(main())
