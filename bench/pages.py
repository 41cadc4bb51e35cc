"""The page of a result."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from bench import scenarios
from bench.command import clocked, timed
from bench.row import Row, measure

RUNS = 100


@measure
def report(place: Path) -> Iterator[Row]:
    """Time `netwarp report` of many runs, and measure its page's size."""
    made = timed(scenarios.ten_megabits(seeds=RUNS), place, "--no-plots")
    yield Row(f"report of {RUNS} runs of 60 s at 10 Mbit/s", clocked("report", str(made.result)), 20)
    yield Row("  its page", (made.result / "report.html").stat().st_size / 1e6, 5, "MB")
