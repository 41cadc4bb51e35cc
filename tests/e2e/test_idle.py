"""A machine that is idle goes on from one packet's timer to the next without an interrupt, and wakes who sleeps.

What it must not pass over is what an interrupt would have done besides: run timers that may run early, and move a clock
that gains or loses.
"""

from __future__ import annotations

from pathlib import Path
from statistics import median

import pytest
from e2e_compile import compiled
from e2e_runs import Runs
from e2e_traffic import flow, pair

MS = 10**6
LATEST_NS = 50_000
BULK = flow("beside", "bulk", 'pacing_rate = "700mbit"')
FRAME_NS = 1514 * 8
"""Its frames leave in bursts, one after the other, at 1 Gbit/s."""


@pytest.fixture(scope="module")
def idles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(Path(__file__).with_name("idles.c"), tmp_path_factory.mktemp("idles") / "idles")


def told(runs: Runs, idles: Path, kind: str, beside: str) -> list[int]:
    """The numbers that the program prints, on a machine that forwards a flow of `beside` meanwhile."""
    asked = flow("asked", "command", f'client = ["{idles}", "{kind}"]', 'start = "500ms"')
    run = runs(pair(asked + beside, rate="1gbit", delay="3ms", router=True), "--read", str(idles))
    return [int(word) for word in (run.path / "asked-client.out").read_text().split()]


def test_a_sleep_that_may_end_late_ends_with_the_next_packet(runs: Runs, idles: Path) -> None:
    """hrtimer_interrupt() runs each timer whose earliest time has come. With nothing beside it, that is its latest."""
    alone = told(runs, idles, "slack", "")
    assert max(alone) == LATEST_NS
    beside = told(runs, idles, "slack", BULK)
    assert len(beside) == 200
    assert 0 <= min(beside) <= max(beside) < LATEST_NS
    assert median(beside) <= FRAME_NS


@pytest.mark.parametrize(("beside", "late_ns"), [("", 51_000), (BULK, FRAME_NS)], ids=["alone", "beside traffic"])
def test_a_clock_that_gains_wakes_who_sleeps_by_it(runs: Runs, idles: Path, beside: str, late_ns: int) -> None:
    """100 ms by a clock that gains 500 parts in a million are 99.95 ms. The timer is set for 100 ms, and is seen to be
    over when it interrupts, or when anything else does."""
    seen = told(runs, idles, "gain", beside)
    assert len(seen) == 20
    for slept, really in zip(seen[::2], seen[1::2], strict=True):
        assert 100 * MS <= slept <= 100 * MS + late_ns
        assert really == pytest.approx(slept / 1.0005, abs=100)
