"""ns-3 beside netwarp, where it is installed: the CPU time of the same networks, in turn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from netwarp.verify import ns3

from bench import scenarios
from bench.command import children_cpu_s, timed
from bench.row import Row, measure

REPEATS = 3


@dataclass(frozen=True)
class _Network:
    """A network with a round trip of a little over 20 ms, and how many times netwarp's engine should be as fast."""

    mbps: int
    duration_s: int
    flows: int
    limit_pkts: int
    goal: float

    def of_ns3(self) -> ns3.Dumbbell:
        return ns3.Dumbbell(
            "cubic", self.flows, self.mbps * 1e6, 10_000_000, self.limit_pkts, 0, self.duration_s * 10**9
        )

    def of_netwarp(self) -> str:
        return scenarios.dumbbell(
            rate=f"{self.mbps}mbit",
            duration=f"{self.duration_s}s",
            queue=f"pfifo limit {self.limit_pkts}",
            flow=f'tool = "bulk"\ncc = "cubic"\ncount = {self.flows}',
            exact=True,
        )

    def __str__(self) -> str:
        flows = "1 flow" if self.flows == 1 else f"{self.flows} flows"
        return f"{self.duration_s} s at {self.mbps} Mbit/s, {flows}"


_NETWORKS = (
    _Network(10, 60, 1, 100, 8),
    _Network(10, 60, 10, 100, 8),
    _Network(100, 20, 1, 167, 12),
    _Network(100, 20, 100, 167, 12),
    _Network(100, 20, 500, 167, 16),
    _Network(100, 20, 1000, 167, 20),
    _Network(1000, 10, 1, 1651, 20),
)


@measure
def beside_ns3(place: Path) -> Iterator[Row]:
    """Compare the CPU time of netwarp's engine, with exact records, and of ns-3, which traces the queue and the window.

    Both have CUBIC. ns-3 keeps its means only, writes no records, and has neither segmentation nor a receiver's window
    that grows, so the comparison favours it.
    """
    if not ns3.is_installed():
        raise RuntimeError(f"ns-3 is not installed (Debian: {ns3.PACKAGE})")
    ns3.program()
    for number, network in enumerate(_NETWORKS):
        pairs = [_pair(network, place / f"{number}-{repeat}") for repeat in range(REPEATS)]
        theirs, ours, tables = (median(one) for one in zip(*pairs, strict=True))
        name = f"ns-3's CPU time / netwarp's: {network}"
        yield Row(name, median(one / other for one, other, _ in pairs), network.goal, "×", more_is_better=True)
        with_tables = median(one / (other + its_tables) for one, other, its_tables in pairs)
        yield Row("  with the tables of its records", with_tables, unit="×", more_is_better=True)
        yield Row("  ns-3, of a CPU", theirs)
        yield Row("  the machine, of a CPU", ours)
        yield Row("  the tables of its records, of a CPU", tables)


def _pair(network: _Network, place: Path) -> tuple[float, float, float]:
    """CPU seconds of ns-3, of netwarp's machine, and of the tables of its records, one after the other."""
    before = children_cpu_s()
    ns3.run(network.of_ns3())
    theirs = children_cpu_s() - before
    run = timed(network.of_netwarp(), place, "--no-plots")
    return theirs, run.cpu_s, run.guard_cpu_s
