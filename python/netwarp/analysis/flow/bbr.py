"""The share of BBR's time in each phase, as metrics of flows."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from netwarp.analysis.flow.flows import FlowData
from netwarp.analysis.flow.phases import Phase, Span, flow_phases
from netwarp.analysis.metric import Metric, rows
from netwarp.stats.weighting import Window
from netwarp.store.rundir import RunDir

_METRIC = {
    Phase.STARTUP: "bbr_startup_pct",
    Phase.DRAIN: "bbr_drain_pct",
    Phase.PROBE_BW: "bbr_probe_bw_pct",
    Phase.PROBE_RTT: "bbr_probe_rtt_pct",
}


def phase_metrics(run: RunDir, flows: Sequence[FlowData]) -> Iterator[Metric]:
    """The share of time in each phase, for each flow under BBR and for the flows of one name together."""
    phases = flow_phases(run, list(flows))
    for group, members in groupby(flows, key=lambda data: data.flow.group):
        of_each = [
            (data.flow.name, _times_s(phases[data.flow.name], data.window))
            for data in members
            if data.flow.name in phases
        ]
        for name, times in of_each:
            yield from rows("flow", name, _shares([times]))
        if len(of_each) > 1:
            yield from rows("flow", group, _shares([times for _, times in of_each]))


def _times_s(spans: Sequence[Span], window: Window) -> dict[Phase, float]:
    """Seconds in each phase within the window."""
    start, end = window.start_ns / 1e9, window.end_ns / 1e9
    times = dict.fromkeys(Phase, 0.0)
    for span in spans:
        times[span.phase] += max(min(span.end_s, end) - max(span.start_s, start), 0.0)
    return times


def _shares(parts: Sequence[dict[Phase, float]]) -> dict[str, float | int | None]:
    """The shares in percent of the time for which the phase is known: from the first ACK on."""
    total = sum(sum(times.values()) for times in parts)
    if not total:
        return {}
    return {metric: 100 * sum(times[phase] for times in parts) / total for phase, metric in _METRIC.items()}
