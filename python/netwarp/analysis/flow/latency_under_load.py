"""Latency under load: the round trips of echo and other requests while other flows fill the path, and without them."""

from collections.abc import Iterator, Sequence
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from netwarp.analysis.flow.flows import FlowData
from netwarp.analysis.metric import Metric, rows
from netwarp.stats.censoring import Durations, percentile_of, together
from netwarp.stats.weighting import Times, Values, Window

CALM_NS = 10**9
TRIM = 0.95


def load_metrics(flows: Sequence[FlowData]) -> Iterator[Metric]:
    """Metrics of round trips with and without load, for every probe flow, and for the probes of one name.

    Load is every flow that is not a probe. A round trip is loaded if it began while such a flow was active, in the
    window of the metrics; it is idle if none was active from a second before it to its end, in the whole run.
    """
    loads = [Window(data.start_ns, data.window.end_ns) for data in flows if not data.flow.kind.probe]
    for group, members in groupby(flows, key=lambda data: data.flow.group):
        together = [data for data in members if data.flow.kind.probe]
        for data in together:
            yield from rows("flow", data.flow.name, _metrics([data], loads))
        if len(together) > 1:
            yield from rows("flow", group, _metrics(together, loads))


def trimmed_mean(values: Values) -> float | None:
    """The mean of the lowest 95 % (TM95 of draft-ietf-ippm-responsiveness); None if empty.

    If 95 % of their number is a fraction, the last value counts by this fraction: leaving it out, or counting it as a
    whole, would give the mean of 90 % or of all of ten values.
    """
    if not len(values):
        return None
    weights = np.clip(TRIM * len(values) - np.arange(len(values)), 0, 1)
    return float(np.average(np.sort(values), weights=weights))


def _metrics(flows: Sequence[FlowData], loads: Sequence[Window]) -> dict[str, float | None]:
    loaded, idle = [], []
    for data in flows:
        starts, times = _round_trips(data)
        chosen = data.window.mask(starts) & _touching(starts, starts, loads)
        loaded.append(Durations(times.values[chosen], times.ended[chosen]))
        calm = ~_touching(starts - CALM_NS, starts + (times.values * 1e6).astype(np.int64), loads)
        idle.append(Durations(times.values[calm], times.ended[calm]))
    under = together(loaded)
    mean = trimmed_mean(under.values[under.ended])
    base = percentile_of(together(idle), 50)
    found: dict[str, float | None] = {"idle_ms_p50": base}
    for percent in (50, 95):
        value = percentile_of(under, percent)
        found[f"loaded_ms_p{percent}"] = value
        found[f"load_increase_ms_p{percent}"] = value - base if value is not None and base is not None else None
    return {**found, "rpm": 60_000 / mean if mean else None}


def _round_trips(data: FlowData) -> tuple[Times, Durations]:
    """The beginning and the duration in ms of each round trip: of answered echo requests, and of all other requests."""
    if data.pings is not None:
        times = data.pings.rtts_ms[data.pings.answered]
        return data.pings.sent_ns[data.pings.answered], Durations(times, np.ones(len(times), np.bool_))
    if (known := data.transfers) is not None:
        return known.start_ns, Durations((known.end_ns - known.start_ns) / 1e6, known.complete)
    return np.empty(0, np.int64), Durations(np.empty(0), np.empty(0, np.bool_))


def _touching(starts: Times, ends: Times, loads: Sequence[Window]) -> NDArray[np.bool_]:
    """Whether each span overlaps with any of the loads."""
    touching = np.zeros(len(starts), np.bool_)
    for load in loads:
        touching |= (starts < load.end_ns) & (ends >= load.start_ns)
    return touching
