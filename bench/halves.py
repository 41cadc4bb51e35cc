"""How much two kernels could speed up one run: the bound by the work of its halves, and the cost of a round trip."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench import scenarios
from bench.command import timed
from bench.row import Row, measure

HOPS = 8
REPEATS = 3
WINDOW_S, DURATION_S = 0.01, 10
"""The delay of the link at which the network is cut, after which either half can be affected by the other, and the
duration of the run."""
ROUND_TRIPS = 20_000


@dataclass(frozen=True)
class Bound:
    """CPU seconds of the engine for the whole network and for each half of it (medians), the number of windows, and the
    seconds of a round trip between two processes."""

    whole_s: float
    first_s: float
    second_s: float
    windows: int
    round_trip_s: float

    @property
    def gain(self) -> float:
        """The most that two kernels could gain, if waiting for each other cost nothing."""
        return self.whole_s / max(self.first_s, self.second_s)

    @property
    def waiting_s(self) -> float:
        """Seconds for the round trips, one in each window."""
        return self.windows * self.round_trip_s


def bound(place: Path) -> Bound:
    """Measure a parking lot with a flow across each hop and one over all, and its halves, each with its half of them.

    The flow over all is in both halves, as its packets would be.
    """
    texts = {
        "whole": scenarios.hops(1, HOPS, HOPS),
        "first": scenarios.hops(1, HOPS // 2, HOPS),
        "second": scenarios.hops(HOPS // 2 + 1, HOPS, HOPS),
    }
    taken: dict[str, list[float]] = {name: [] for name in texts}
    for repeat in range(REPEATS):
        for name, text in texts.items():
            taken[name].append(timed(text, place / f"{name}-{repeat}", "--no-plots").cpu_s)
    whole, first, second = (median(seconds) for seconds in taken.values())
    return Bound(whole, first, second, round(DURATION_S / WINDOW_S), round_trip_s())


@measure
def two_kernels(place: Path) -> Iterator[Row]:
    """The bound of two kernels for one run."""
    found = bound(place)
    yield Row("one kernel / the larger of two, of a CPU", found.gain, 1.5, "×", more_is_better=True)
    yield Row("  the whole, of a CPU", found.whole_s)
    yield Row(f"  {found.windows} round trips", found.waiting_s)


def round_trip_s() -> float:
    """Median seconds in which a byte goes through a pipe to another process and one comes back."""
    (there_r, there_w), (back_r, back_w) = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        os.close(there_w)
        while os.read(there_r, 1):
            os.write(back_w, b"x")
        os._exit(0)
    os.close(there_r)
    os.close(back_w)
    taken = []
    for _ in range(ROUND_TRIPS):
        begin = time.perf_counter()
        os.write(there_w, b"x")
        os.read(back_r, 1)
        taken.append(time.perf_counter() - begin)
    os.close(there_w)
    os.close(back_r)
    os.waitpid(child, 0)
    return median(taken)
