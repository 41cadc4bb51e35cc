"""Metrics of energy: of links and nodes with a model, of the flows that used them, and of all together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

import numpy as np
import polars as pl

from netwarp.analysis.energy.consumption import by_tuple
from netwarp.analysis.energy.traffic import Part, parts_of
from netwarp.analysis.flow.flows import FlowData
from netwarp.analysis.metric import Metric, rows
from netwarp.analysis.tuples import ICMP, flow_of_tuples
from netwarp.stats.weighting import Window
from netwarp.store.description import Flow
from netwarp.store.rundir import RunDir


def energy_metrics(run: RunDir, flows: Sequence[FlowData], window: Window) -> Iterator[Metric]:
    """Metrics of each part that has a model, of each flow, and of the run; none without a model or exact records."""
    parts = parts_of(run)
    if not parts or not window.length_ns:
        return
    for part in parts:
        yield from rows(part.scope, part.name, _of_part(part, window))
    joules = _by_flow(run, parts, window)
    for group, members in groupby(flows, key=lambda data: data.flow.group):
        together = list(members)
        for data in together:
            yield from rows("flow", data.flow.name, _of_flows([data], joules))
        if len(together) > 1:
            yield from rows("flow", group, _of_flows(together, joules))
    total = sum(_joules(part, window) for part in parts)
    delivered = _delivered_mb(flows)
    each = {"energy_j": total, "power_w": total / window.seconds}
    yield from rows("run", "", {**each, "energy_j_per_mb": total / delivered if delivered else None})


def _joules(part: Part, window: Window) -> float:
    return float(part.consumption.joules(np.array(window.bounds, np.int64))[0])


def _of_part(part: Part, window: Window) -> dict[str, float | int | None]:
    used, joules = part.consumption, _joules(part, window)
    asleep_ns = used.asleep_ns(window)
    return {
        "energy_j": joules,
        "power_w": joules / window.seconds,
        "asleep_pct": None if asleep_ns is None else 100 * asleep_ns / window.length_ns,
        "wakeups": used.wakes(window),
        "wake_delay_ms": used.mean_delay_ms(window),
    }


def _of_flows(flows: Sequence[FlowData], joules: Mapping[int, float]) -> dict[str, float | int | None]:
    """The metrics of flows together. Absent where no packet of theirs passed a part with a model."""
    if not any(data.flow.id in joules for data in flows):
        return {}
    total = sum(joules.get(data.flow.id, 0.0) for data in flows)
    again = [_again_j(data, joules.get(data.flow.id, 0.0)) for data in flows]
    delivered = _delivered_mb(flows)
    return {
        "energy_j": total,
        "energy_j_per_mb": total / delivered if delivered else None,
        "retransmission_j": None if None in again else sum(one or 0.0 for one in again),
    }


def _again_j(data: FlowData, joules: float) -> float | None:
    """The joules of a flow's retransmissions: its joules times their share of its segments. None if unknown."""
    segments = data.segments()
    return None if segments is None or not segments[1] else joules * segments[0] / segments[1]


def _delivered_mb(flows: Sequence[FlowData]) -> float | None:
    """The payload that all of the flows delivered, in MB; those that deliver none, as pings, are left out."""
    parts = [part for data in flows if (part := data.delivered()) is not None]
    return sum(payload for payload, _ in parts) / 1e6 if parts else None


def _by_flow(run: RunDir, parts: Sequence[Part], window: Window) -> dict[int, float]:
    """The joules of each flow, by its id: of all tuples that carry its data or answer them."""
    flow_of = _with_answers(run.scan("tuples").collect(), run.description.flows)
    found: dict[int, float] = defaultdict(float)
    for _, each in groupby(parts, key=lambda part: (part.scope, part.whole)):
        for number, joules in by_tuple([part.consumption for part in each], window).items():
            if (flow := flow_of.get(number)) is not None:
                found[flow] += joules
    return found


def _with_answers(tuples: pl.DataFrame, flows: tuple[Flow, ...]) -> dict[int, int]:
    """The flow of each tuple that carries its data, or goes the other way between the same endpoints.

    An echo reply has the identifier of its request in the same place (RFC 792, RFC 4443), where others swap ports.
    """
    data = flow_of_tuples(tuples, flows, with_control=True)
    echo = pl.col("protocol").is_in(ICMP)
    answered = tuples.filter(pl.col("tuple_id").is_in(list(data))).select(
        "protocol",
        pl.col("tuple_id").alias("answered"),
        pl.col("source").alias("destination"),
        pl.col("destination").alias("source"),
        pl.when(echo).then("destination_port").otherwise("source_port").alias("destination_port"),
        pl.when(echo).then("source_port").otherwise("destination_port").alias("source_port"),
    )
    ends = ["protocol", "source", "source_port", "destination", "destination_port"]
    back = tuples.join(answered, on=ends).select("tuple_id", "answered")
    return {number: data[tuple_id] for number, tuple_id in back.iter_rows()} | data
