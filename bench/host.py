"""This machine's kernel in real time against virtual time: a flow's goodput, and the cost of sampling."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from netwarp.store.rundir import RunDir

from bench.command import timed
from bench.row import Row, measure
from tests.e2e.e2e_scenarios import dumbbell

QUEUES = {"10mbit": "pfifo limit 100", "100mbit": "pfifo limit 1000"}
DURATION_S = 20


@measure
def real_time(place: Path) -> Iterator[Row]:
    """One CUBIC flow without delay, since this kernel may have no netem; the same records on both engines."""
    for rate, queue in QUEUES.items():
        text = dumbbell(rate=rate, delay="0ms", queue=queue, duration=f"{DURATION_S}s", exact=False, name="bench")
        alike = ("--no-plots", "--set", 'record.sample="10ms"')
        virtual = timed(text, place / f"{rate}-uml", *alike).runs[0]
        real = timed(text, place / f"{rate}-host", "--engine", "host", *alike).runs[0]
        off = 100 * abs(_goodput(real) / _goodput(virtual) - 1)
        verdict = real.status()["status"]
        yield Row(f"{rate}: goodput in real time off virtual time's ({verdict})", off, 1, "%")
        yield Row("  sampling every 10 ms, of one core", 100 * _sampling_share(real), 5, "%")


def _goodput(run: RunDir) -> float:
    metrics = run.metrics().filter(scope="flow", name="bulk", metric="goodput_mbps")
    return float(metrics["value"].item())


def _sampling_share(run: RunDir) -> float:
    """CPU time of the sampling thread as a share of the run's time."""
    samples = run.scan("machine").sort("time_ns").select("time_ns", "sampling_cpu_us").collect()
    first, last = samples.row(0), samples.row(-1)
    return float((last[1] - first[1]) * 1000 / (last[0] - first[0]))
