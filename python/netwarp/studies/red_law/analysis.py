"""RED's treatment of each packet, compared with Floyd and Jacobson's law.

The average is computed from the queue that each packet found on arrival, in the kernel's arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netwarp.analysis.queue.red import Red, averages, backlog_found, drop_probabilities, red_of
from netwarp.stats.intervals import normal_interval
from netwarp.store.codes import Fate
from netwarp.store.errors import StoreError
from netwarp.store.findings import Finding, Holds
from netwarp.store.rundir import RunDir
from netwarp.store.summary import axis_text
from netwarp.studies.red_law.needs import QUEUE
from netwarp.values.qdisc import Qdisc

STEPS = 16
"""The number of steps into which the averages between min and max are divided."""
MIN_COUNT = 200
UNLIKELY = 4.0
"""The standard deviations between dropped and expected packets beyond which the law does not hold."""

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Arrivals:
    """One run's packets at RED in order of arrival: their times, the queue found, RED's average, and their fate."""

    label: str
    time_s: Values
    backlog_bytes: NDArray[np.int64]
    average_bytes: Values
    dropped: NDArray[np.bool_]
    likely: Values


@dataclass(frozen=True)
class Step:
    """The packets that arrived while the average was in a step, and their drops.

    `fraction` of them was dropped; its interval follows from the probability of each drop. `law` is the fraction by
    Floyd and Jacobson, `base` is p_b, `expected` the expected number of drops.
    """

    average_bytes: float
    packets: int
    dropped: int
    fraction: float
    low: float
    high: float
    law: float
    base: float
    expected: float


def label_of(point: Any) -> str:
    """The values of a run's axes, for the title of a panel."""
    return ", ".join(axis_text(value) for value in dict(point).values()) or "the run"


def arrivals_of(run: RunDir, label: str) -> tuple[Red, Arrivals]:
    """A run's queue and its packets. Raises StoreError unless it has one RED."""
    queues = [(end.index, red_of(Qdisc.of(end.queue))) for end in run.lab.ends]
    its = [(index, red) for index, red in queues if red is not None]
    if len(its) != 1:
        raise StoreError(QUEUE)
    ((index, red),) = its
    columns = ("enqueue_ns", "packet_bytes", "backlog_bytes", "fate")
    frame = (
        run.scan("packets")
        .filter(interface_index=index)
        .select(columns)
        .sort("enqueue_ns", maintain_order=True)
        .collect()
    )
    dropped = frame["fate"].to_numpy() == Fate.DROPPED
    backlog = backlog_found(frame)
    average = averages(red, backlog)
    likely = drop_probabilities(red, average, dropped)
    return red, Arrivals(label, frame["enqueue_ns"].to_numpy() / 1e9, backlog, average, dropped, likely)


def steps_of(red: Red, arrivals: Sequence[Arrivals]) -> Iterator[Step]:
    """The packets of all runs by steps of the average; steps with too few packets are left out."""
    average = np.concatenate([one.average_bytes for one in arrivals])
    dropped = np.concatenate([one.dropped for one in arrivals])
    likely = np.concatenate([one.likely for one in arrivals])
    width = (red.max_bytes - red.min_bytes) / STEPS
    at = np.floor((average - red.min_bytes) / width).astype(np.int64)
    for step in np.unique(at):
        its = at == step
        count = int(its.sum())
        if count < MIN_COUNT and step != STEPS:  # the step beyond max always counts: all its packets are dropped
            continue
        fraction = float(dropped[its].mean())
        # Given earlier fates, each drop depends only on its own probability, so the variances add up.
        low, high = normal_interval(fraction, float((likely[its] * (1 - likely[its])).sum()) ** 0.5 / count)
        yield Step(
            average_bytes=float(average[its].mean()),
            packets=count,
            dropped=int(dropped[its].sum()),
            fraction=fraction,
            low=max(low, 0.0),
            high=min(high, 1.0),
            law=float(red.drop_fraction(average[its]).mean()),
            base=float(red.base_probability(average[its]).mean()),
            expected=float(likely[its].sum()),
        )


def findings_of(red: Red, arrivals: Sequence[Arrivals]) -> Iterator[Finding]:
    """Whether the law holds, at its two ends and between them."""
    packets = sum(len(one.dropped) for one in arrivals)
    against = sum(int((one.dropped & (one.likely == 0) | ~one.dropped & (one.likely == 1)).sum()) for one in arrivals)
    yield Finding(
        f"no packet is dropped while the average is below min ({red.min_bytes} bytes), every one beyond max "
        f"({red.max_bytes} bytes)",
        Holds.NO if against else Holds.YES,
        f"{against} of {packets} packets are against it",
    )
    dropped = sum(int(one.dropped.sum()) for one in arrivals)
    likely = sum(float(one.likely.sum()) for one in arrivals)
    deviation = sum(float((one.likely * (1 - one.likely)).sum()) for one in arrivals) ** 0.5
    off = (dropped - likely) / deviation if deviation else 0.0
    yield Finding(
        "between them packets are dropped as likely as Floyd and Jacobson's law says",
        Holds.YES if abs(off) < UNLIKELY else Holds.NO,
        f"{dropped} dropped, {likely:.0f} likely: {off:+.1f} standard deviations",
    )
