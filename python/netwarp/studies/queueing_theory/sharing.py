"""A link that gives each connection its own queue as a server that all present share equally (processor sharing).

In M/G/1-PS the mean slowdown, time in the system / service time, is 1 / (1 − load), whatever the distribution of
service times (L. Kleinrock: Queueing Systems II (1976), 4.4).
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from netwarp.store.empty_path import empty_path
from netwarp.store.rundir import RunDir


@dataclass(frozen=True)
class Slowdowns:
    """Mean slowdowns of the same transfers: on the link, and in an ideal server at which they arrive at the same times.

    A transfer's service time is that of its frames on the slowest link. Their quotient is free of the chance of
    arrivals and sizes, which over a run of minutes varies either by tens of percent.
    """

    measured: float
    ideal: float
    transfers: int


def law(load: float) -> float:
    """The mean slowdown of M/G/1-PS."""
    return 1 / (1 - load)


def slowdowns(run: RunDir) -> Slowdowns | None:
    """The slowdowns of the transfers of a run's only flow that began after the warm-up.

    None if one of them is not complete, since a mean over the others would be too small, or if the path is not known.
    """
    path = empty_path(run.lab, run.lab.flows[0])
    rows = run.scan("transfers").sort("start_ns", maintain_order=True).collect()
    chosen = (rows["start_ns"] >= run.description.warmup_ns).to_numpy()
    if path is None or not chosen.any() or rows.filter(chosen)["end_ns"].null_count():
        return None
    works = path.busy_ns(rows["bytes"].cast(pl.Int64).to_numpy())
    times = (rows["end_ns"] - rows["start_ns"]).cast(pl.Float64).to_numpy()
    ideal = shared(rows["start_ns"].to_list(), works.tolist()) / works
    return Slowdowns(float((times / works)[chosen].mean()), float(ideal[chosen].mean()), int(chosen.sum()))


def shared(starts: Sequence[float], works: Sequence[float]) -> NDArray[np.float64]:
    """Times in a server that all present share equally, of arrivals in order with their work.

    Its own clock advances by the service that each present gets; one leaves when the clock has reached the value at its
    arrival plus its work.
    """
    times = np.zeros(len(starts))
    present: list[tuple[float, int]] = []
    clock, now = 0.0, 0.0
    for number, start in [*enumerate(starts), (len(starts), np.inf)]:
        while present and now + (present[0][0] - clock) * len(present) <= start:
            sharing = len(present)
            leaves, who = heapq.heappop(present)
            now, clock = now + (leaves - clock) * sharing, leaves
            times[who] = now - starts[who]
        if number < len(starts):
            clock += (start - now) / len(present) if present else 0.0
            now = start
            heapq.heappush(present, (clock + works[number], number))
    return times
