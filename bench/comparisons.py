"""Comparison of two results."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from bench import scenarios
from bench.command import clocked, timed
from bench.row import Row, measure

RUNS = 100
QUEUES = ["pfifo limit 20", "pfifo limit 100", "fq_codel", "red limit 150000 min 30000 max 90000 avpkt 1000", "pie"]


@measure
def compare(place: Path) -> Iterator[Row]:
    """Time `netwarp compare` on two results of a sweep that differ only in their seeds."""
    seeds = RUNS // len(QUEUES)
    results = [
        timed(
            scenarios.ten_megabits(),
            place / name,
            "--no-plots",
            *("--sweep", f"links.bottleneck.queue={QUEUES}"),
            *("--set", "duration=2s", "--set", f"seeds={list(range(first, first + seeds))}"),
        ).result
        for name, first in (("one", 1), ("other", 1001))
    ]
    yield Row(f"compare of two results of {RUNS} runs", clocked("compare", *map(str, results)), 2)
