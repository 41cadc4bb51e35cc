"""Check whether expectations of the shipped scenarios hold with twenty seeds, not only with their own."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from netwarp.analysis.summary.expectations import Judgement, check_expectations
from netwarp.scenario import load_scenario, shipped_scenarios
from netwarp.store.result import open_result

from bench.command import clocked
from bench.row import Row, measure

SEEDS = 20
OWN_SEEDS = ("three-node", "three-node-builtin", "three-node-published")
"""Studies of 24 conditions with real programs, which run with their own seeds: see studies.py."""
OWN_KERNELS = ("kernel-ab",)
"""Scenarios that need another kernel: see kernels.py."""


@measure
def shipped(place: Path) -> Iterator[Row]:
    """Run each shipped scenario as a whole: count the expectations that hold, and take the time."""
    place.mkdir()
    for name in sorted(set(shipped_scenarios()) - {*OWN_SEEDS, *OWN_KERNELS}):
        seconds = clocked("run", name, "--seeds", str(SEEDS), "--no-plots", "-o", str(place / name), codes=(0, 1))
        expected = load_scenario(name).expectations
        checked = check_expectations(open_result(place / name).summary(), expected)
        shutil.rmtree(place / name)  # coexistence alone writes tens of gigabytes
        met = sum(one.judgement is Judgement.MET for one in checked)
        yield Row(f"{name}: expectations that hold with {SEEDS} seeds", met, len(expected), "", more_is_better=True)
        yield Row("  all its runs", seconds)
