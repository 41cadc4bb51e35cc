"""How much faster one run is on two CPUs: a parking lot divided between two kernels, beside the same with one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench import scenarios
from bench.command import Timed, timed
from bench.row import Row, measure

HOPS = 8
REPEATS = 3


@dataclass(frozen=True)
class Pair:
    """Medians for one kernel and for two: real seconds of the machines, real seconds of the command, and CPU seconds of
    the kernels."""

    machines_s: tuple[float, float]
    command_s: tuple[float, float]
    cpu_s: tuple[float, float]

    @property
    def gain(self) -> float:
        """How much faster the machines are."""
        one, two = self.machines_s
        return one / two


@dataclass(frozen=True)
class Gain:
    """With exact records, which need a part of a CPU for each kernel to be written, and without."""

    exact: Pair
    sampled: Pair


def gain(place: Path) -> Gain:
    """Measure a parking lot with a flow across each hop and one over all, on one kernel and on two in turn."""
    return Gain(_pair(place / "exact", exact=True), _pair(place / "sampled", exact=False))


def _pair(place: Path, *, exact: bool) -> Pair:
    found: dict[int, list[Timed]] = {1: [], 2: []}
    for repeat in range(REPEATS):
        for cpus, runs in found.items():
            text = scenarios.hops(HOPS, cpus=cpus, exact=exact)
            runs.append(timed(text, place / f"{cpus}-{repeat}", "--no-plots", "--jobs", "1"))
    one, two = found.values()
    return Pair(
        (median(run.engine_s for run in one), median(run.engine_s for run in two)),
        (median(run.seconds for run in one), median(run.seconds for run in two)),
        (median(run.cpu_s for run in one), median(run.cpu_s for run in two)),
    )


@measure
def two_kernels(place: Path) -> Iterator[Row]:
    """One run on two CPUs."""
    found = gain(place)
    yield Row("one kernel / two, real time, no records", found.sampled.gain, 1.5, "×", more_is_better=True)
    yield Row("  with exact records", found.exact.gain, unit="×", more_is_better=True)
