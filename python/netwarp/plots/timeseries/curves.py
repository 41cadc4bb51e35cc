"""One run over time: each quantity as curves, reduced to the resolution of a figure, and BBR's phases."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

import numpy as np
import polars as pl

from netwarp.analysis.flow.flows import FlowData, load_flows
from netwarp.analysis.flow.phases import flow_phases
from netwarp.analysis.flow.sharing import INTERVAL_NS, jain_over_time
from netwarp.analysis.flow.states import State, load_states
from netwarp.analysis.run import series
from netwarp.plots import look
from netwarp.plots.legibility import MAX_LINES
from netwarp.plots.timeseries.figure_spec import Band, Bar, Curve, Quantity, Schedule, SecondaryAxis
from netwarp.plots.timeseries.series import COLUMNS, cut, reduce_series
from netwarp.plots.timeseries.several import named_curves, spoken
from netwarp.plots.timeseries.spread import across, averaged
from netwarp.store.description import Description, End
from netwarp.store.rundir import RunDir

_MAX_SCHEDULES = 3
_BIN_NS = 100_000_000
_MAX_BINS = 600

GOODPUT = "throughput-"
"""The prefix of the names of goodput figures."""
QUEUE, CWND, RTT, STATE = "queue-", "cwnd-", "rtt-", "state-"
JAIN = Quantity(
    "jain-index",
    "Jain's index over time",
    "goodputs of the TCP flows in each second that two of them or more are active in",
    "Jain's index",
    False,
    interval_s=INTERVAL_NS / 1e9,
)


@dataclass(frozen=True)
class RunCurves:
    """One run's curves by quantity (one for each flow; for queues the requested one), and its first BBR flow's phases.

    If more flows have one name than can be told apart, the curve is their median and `bands` their spread. `named`
    holds quantities with several named curves of one run.
    """

    curves: Mapping[Quantity, Sequence[Curve]]
    phases: Mapping[str, Sequence[Bar]]
    bands: Mapping[Quantity, Sequence[Band]] = field(default_factory=dict)
    named: Mapping[Quantity, Mapping[str, Curve]] = field(default_factory=dict)


def run_curves(run: RunDir, queue: str | None, *, average: bool = False) -> RunCurves:
    """The reduced curves of a run's records; `queue` names the queue to show as `link:node`.

    With `average` each curve has the means of spans that are the same in all runs, and there are no phases.
    """
    everyone = load_flows(run, transits=False)
    flows = chosen_flows(everyone)
    length_s = duration_s(run)
    frames: dict[Quantity, list[Curve]] = {}
    for quantity, frame in _frames(run, flows, queue):
        if frame.height > 1:
            whole = Curve(frame["time_s"].to_numpy(), frame[frame.columns[1]].to_numpy())
            frames.setdefault(quantity, []).append(whole)
    if average:
        means = {q: [averaged(q, curve, length_s) for curve in some] for q, some in frames.items()}
        return RunCurves(means, {})
    found: dict[Quantity, Sequence[Curve]] = {}
    bands: dict[Quantity, Sequence[Band]] = {}
    for quantity, some in frames.items():
        if len(some) > MAX_LINES:
            # Over the active flows: at night four of forty users may be active.
            flow_means = [averaged(quantity, curve, length_s) for curve in some]
            median, bands[quantity] = across(flow_means, "flows", least=0)
            found[quantity] = [_known(median)]
        else:
            found[quantity] = [_reduced(curve) for curve in some]
    phases = flow_phases(run, flows)
    groups: dict[str, list[Bar]] = {}
    for data in flows:
        if data.flow.group not in groups and (spans := phases.get(data.flow.name)):
            groups[data.flow.group] = [Bar(span.phase.value, span.start_s, span.end_s) for span in spans]
    named = named_curves(run, flows, series.interval_ns(run, everyone))
    return RunCurves(found, groups, bands, named)


def chosen_flows(flows: Sequence[FlowData]) -> Sequence[FlowData]:
    """The flows that `--only` names, by their own or their group's name; all if it names none."""
    only = look.current().only
    return [data for data in flows if data.flow.name in only or data.flow.group in only] or flows


def duration_s(run: RunDir) -> float:
    """The run's length in seconds."""
    return run.description.duration_ns / 1e9


def schedules(description: Description) -> list[Schedule]:
    """The rates that change during the run, by link; empty if there are too many. A link with equal directions counts
    once."""
    found: dict[str, Schedule] = {}
    for end in description.ends:
        steps = _steps(end, description.duration_ns)
        kept = tuple(step for at, step in enumerate(steps) if at == 0 or step[1] != steps[at - 1][1])
        alike = found.get(end.link)
        if len(kept) > 1 and (alike is None or alike.steps != kept):
            label = end.link if alike is None else f"{end.link}, from {end.node}"
            found[end.link if alike is None else end.name] = Schedule(label, kept)
    return list(found.values()) if len(found) <= _MAX_SCHEDULES else []


def _steps(end: End, duration_ns: int) -> list[tuple[float, float]]:
    """Rates in Mbit/s from these seconds on; for opportunities their rate in each tenth of a second (in a run of more
    than a minute, in each of 600 parts)."""
    if end.opportunities is None:
        return [(max(at_ns, 0) / 1e9, rate_bps / 1e6) for at_ns, rate_bps in end.rates or ()]
    step_ns = max(duration_ns // _MAX_BINS, _BIN_NS)
    edges = np.arange(0, duration_ns + step_ns, step_ns, dtype=np.int64)
    mbps = np.diff(end.opportunities.bits_until(edges)) * 1e3 / step_ns
    return list(zip((edges[:-1] / 1e9).tolist(), mbps.tolist(), strict=True))


def _frames(run: RunDir, flows: Sequence[FlowData], queue: str | None) -> Iterator[tuple[Quantity, pl.DataFrame]]:
    window = series.whole_run(run)
    interval_ns = series.interval_ns(run, flows)
    for group, members in groupby(flows, key=lambda data: data.flow.group):
        together = list(members)
        for data in together:
            end_s = max(data.window.end_ns, data.flow.end_ns) / 1e9  # sockets are also sampled after the test is over
            yield _cwnd(group), series.cwnd(data).filter(pl.col("time_s") <= end_s)
            yield _rtt(group, data), series.rtt(data).filter(pl.col("time_s") <= end_s)
        goodput = series.lived(together, series.throughput(together, window, interval_ns), interval_ns)
        yield _goodput(group, together[0], interval_ns), goodput
    for state in load_states(run, [data.flow for data in flows]):
        yield _state(state), state.frame
    yield JAIN, jain_over_time(flows, window)
    for end in run.description.ends:
        if end.name == queue:
            yield _queue(run.description, end), series.queue_length(run, end)


def _cwnd(group: str) -> Quantity:
    return Quantity(f"{CWND}{group}", f"Congestion window of {group}", "", "congestion window (packets)", True, group)


def _rtt(group: str, data: FlowData) -> Quantity:
    how = "each echo reply, when it came" if data.pings is not None else "each ACK's own sample, not smoothed"
    return Quantity(f"{RTT}{group}", f"Round-trip time of {group}", how, "RTT (ms)", False, group)


def _state(state: State) -> Quantity:
    group, name = state.flow.group, state.name
    return Quantity(
        f"{STATE}{group}-{name}", f"{name} of {group}", f"after each ACK, in {state.control}", name, True, group
    )


def _goodput(group: str, data: FlowData, interval_ns: int) -> Quantity:
    known = data.deliveries
    became = "became readable, in order," if known and known.arrived else "was acknowledged"
    how = f"payload that {became} in each {spoken(interval_ns)}"
    # iperf's "transfer": the bytes of an interval rather than their rate; 1 Mbit/s is 125 kB/s.
    axis = f"transfer (kB in each {spoken(interval_ns)})"
    secondary_axis = SecondaryAxis(f"Goodput and transfer of {group}", axis, 125 * interval_ns / 1e9)
    stem, title = f"{GOODPUT}{group}", f"Goodput of {group}"
    return Quantity(stem, title, how, "goodput (Mbit/s)", False, group, secondary_axis, interval_ns / 1e9, True)


def _queue(description: Description, end: End) -> Quantity:
    title = f"Queue length at {end.node} toward {_far_node(description, end)}"
    stem = f"{QUEUE}{end.link}-{end.node}"
    return Quantity(stem, title, f"link {end.link}", "queue length (packets)", True, empties=True)


def _far_node(description: Description, end: End) -> str:
    return next((e.node for e in description.ends if e.link == end.link and e.node != end.node), "?")


def _reduced(curve: Curve) -> Curve:
    """The part of the curve that a figure shows, reduced to its resolution."""
    return Curve(*reduce_series(*cut(curve.times, curve.values, look.current().xlim), COLUMNS))


def _known(curve: Curve) -> Curve:
    """The curve from its first known value to its last."""
    known = np.flatnonzero(np.isfinite(curve.values))
    part = slice(known[0], known[-1] + 1) if len(known) else slice(0, 0)
    return Curve(curve.times[part], curve.values[part])
