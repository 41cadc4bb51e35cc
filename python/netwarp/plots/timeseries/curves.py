"""One run over time: each quantity as curves, reduced to the resolution of a figure, and the phases of its flows."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from netwarp.analysis.flow.flows import FlowData, load_flows
from netwarp.analysis.flow.phases import flow_phases
from netwarp.analysis.flow.video import playback_spans
from netwarp.plots import look
from netwarp.plots.legibility import MAX_LINES
from netwarp.plots.timeseries.figure_spec import Band, Bar, Curve, Quantity, Schedule
from netwarp.plots.timeseries.kinds import KINDS
from netwarp.plots.timeseries.kinds.base import Source, curve_of
from netwarp.plots.timeseries.series import COLUMNS, cut, reduce_series
from netwarp.plots.timeseries.spread import across, averaged
from netwarp.stats.weighting import Window
from netwarp.store.description import Description, End
from netwarp.store.rundir import RunDir

_MAX_SCHEDULES = 3
_BIN_NS = 100_000_000
_MAX_BINS = 600


@dataclass(frozen=True)
class RunCurves:
    """One run's curves by quantity (one for each flow; for queues the requested one), and the phases of the first
    flow of each name: those of BBR, or of a video's playback.

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
    xlim = look.current().xlim
    closely = None if xlim is None else Window(*(round(at_s * 1e9) for at_s in xlim))
    # Means of spans need all rows: of the runs of many seeds, and of the flows of one name if they are too many.
    whole = average or max(Counter(flow.group for flow in run.description.flows).values(), default=0) > MAX_LINES
    everyone = load_flows(run, transits=False, whole=whole, closely=closely)
    flows = chosen_flows(everyone)
    length_s = duration_s(run)
    frames: dict[Quantity, list[Curve]] = {}
    source = Source(run, flows, everyone, () if queue is None else (queue,), whole, closely)
    for quantity, frame in (found for kind in KINDS for found in kind.frames(source)):
        if frame.height > 1:
            frames.setdefault(quantity, []).append(curve_of(frame))
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
    named = dict(found for kind in KINDS for found in kind.named(source))
    return RunCurves(found, _phases(run, flows), bands, named)


def _phases(run: RunDir, flows: Sequence[FlowData]) -> dict[str, list[Bar]]:
    """The phases of the first flow of each name that has any; under no name those of the first flow with BBR, which
    queues and links show."""
    of_bbr = flow_phases(run, flows)
    groups: dict[str, list[Bar]] = {}
    for data in flows:
        if data.flow.group in groups:
            continue
        if spans := of_bbr.get(data.flow.name):
            groups[data.flow.group] = [Bar(span.phase.value, span.start_s, span.end_s) for span in spans]
            groups.setdefault("", groups[data.flow.group])
        elif data.video is not None:
            groups[data.flow.group] = [Bar(*one) for one in playback_spans(data.video)]
    return groups


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


def _reduced(curve: Curve) -> Curve:
    """The part of the curve that a figure shows, reduced to its resolution."""
    return Curve(*reduce_series(*cut(curve.times, curve.values, look.current().xlim), COLUMNS))


def _known(curve: Curve) -> Curve:
    """The curve from its first known value to its last."""
    known = np.flatnonzero(np.isfinite(curve.values))
    part = slice(known[0], known[-1] + 1) if len(known) else slice(0, 0)
    return Curve(curve.times[part], curve.values[part])
