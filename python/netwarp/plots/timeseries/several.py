"""Figures with several named curves of one run: its interfaces, iperf3 beside the records, BBR's state."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import polars as pl

from netwarp.analysis.flow.flows import FlowData
from netwarp.analysis.flow.phases import UNIT, BbrState, bbr_states
from netwarp.analysis.run import series
from netwarp.plots import look
from netwarp.plots.colours import MAX_DISTINCT
from netwarp.plots.timeseries.figure_spec import Curve, Quantity
from netwarp.plots.timeseries.series import COLUMNS, cut, reduce_series
from netwarp.store.description import Description, End
from netwarp.store.rundir import RunDir

INTERFACES, IPERF3, BBR, START = "interfaces", "iperf3-", "bbr-", "-start"
"""The names, prefixes and suffix of the stems of these figures."""
PRINTED = "iperf3's"
_ROUND_TRIPS = 60
"""The length of BBR's start in round trips: Startup, Drain and some cycles of ProbeBW, each of eight round trips."""
_QUIET = 0.1
"""An interface that sends less than this part of its peer's rate carries ACKs, which would not be visible."""

Named = Mapping[Quantity, Mapping[str, Curve]]


def named_curves(run: RunDir, flows: Sequence[FlowData], interval_ns: int) -> Named:
    """All named curves that the run's records have."""
    return dict([*_interfaces(run, interval_ns), *_iperf3(run, flows, interval_ns), *_bbr(run, flows)])


def _interfaces(run: RunDir, interval_ns: int) -> Iterator[tuple[Quantity, Mapping[str, Curve]]]:
    """The sending rates of interfaces over time, the busiest first."""
    what = run.description
    step_ns = max(interval_ns, what.sample_ns)
    frames = {end: series.interface_rate(run, end, step_ns) for end in what.ends}
    means = {end: float(frame["rate_mbps"].mean() or 0) for end, frame in frames.items() if frame.height > 1}  # type: ignore[arg-type]
    most = {link: max(mean for end, mean in means.items() if end.link == link) for link in {end.link for end in means}}
    busy = [end for end in sorted(means, key=lambda end: -means[end]) if means[end] > _QUIET * most[end.link]]
    if not busy:
        return
    how = f"headers included, in each {spoken(step_ns)} · without those that send under a tenth of what their peers do"
    title = "Rate at which each interface sends"
    quantity = Quantity(INTERFACES, title, how, "rate (Mbit/s)", False, interval_s=step_ns / 1e9, empties=True)
    yield quantity, {_interface(what, end): _curve(*frames[end].get_columns()) for end in busy[:MAX_DISTINCT]}


def _interface(description: Description, end: End) -> str:
    """An interface in words: its node and its peer."""
    far = next((other.node for other in description.ends if other.link == end.link and other.node != end.node), "?")
    return f"{end.node} → {far} ({end.link})"


def _iperf3(run: RunDir, flows: Sequence[FlowData], interval_ns: int) -> Iterator[tuple[Quantity, Mapping[str, Curve]]]:
    """The intervals that iperf3 printed, beside the payload in the records."""
    for data in flows:
        printed = series.reported_rates(run, data)
        if not printed:
            continue
        curves = {f"{PRINTED} {side}": _curve(part["time_s"], part["rate_mbps"]) for side, part in printed.items()}
        known = series.lived([data], series.throughput([data], series.whole_run(run), interval_ns), interval_ns)
        if known.height > 1:
            arrived = data.deliveries is not None and data.deliveries.arrived
            word = "readable" if arrived else "acknowledged"
            curves[f"{word}, in each {spoken(interval_ns)}"] = _curve(known["time_s"], known["throughput_mbps"])
        title = f"What iperf3 printed of {data.flow.name}, beside the records"
        how = "a sender counts what it hands to its socket, buffers included · σ: of iperf3's rates"
        stem = f"{IPERF3}{data.flow.name}"
        yield Quantity(stem, title, how, "rate (Mbit/s)", False, data.flow.group, empties=True), curves


def _bbr(run: RunDir, flows: Sequence[FlowData]) -> Iterator[tuple[Quantity, Mapping[str, Curve]]]:
    """The state of the first BBR flow of each name, for the whole run, and again for its start."""
    groups: set[str] = set()
    states = bbr_states(run, list(flows))
    for data in flows:
        state = states.get(data.flow.name)
        if state is None or data.flow.group in groups or len(state.times_ns) < 2:
            continue
        groups.add(data.flow.group)
        whole = look.current().xlim or (0.0, run.description.duration_ns / 1e9)
        found = list(_bbr_curves(run, data, state))
        for suffix, window in (("", whole), (START, None if look.current().xlim else _start(data, whole[1]))):
            for quantity, curves in found if window else ():
                short = {name: _reduced(curve, window) for name, curve in curves.items()}
                yield replace(quantity, stem=quantity.stem + suffix), short


def _bbr_curves(run: RunDir, data: FlowData, state: BbrState) -> Iterator[tuple[Quantity, Mapping[str, Curve]]]:
    group, times = data.flow.group, state.times_ns / 1e9
    gains = {"pacing gain": state.pacing_gains, "window gain (cwnd_gain)": state.window_gains}
    quantity = Quantity(f"{BBR}gain-{group}", "", "", "gain (times)", True, group)
    yield quantity, {name: Curve(times, values / UNIT) for name, values in gains.items()}
    bandwidth = {"bandwidth estimate": Curve(times, state.bandwidths_bps / 1e6)}
    arrived = series.throughput([data], series.whole_run(run), series.interval_ns(run, [data]))
    if arrived.height > 1:
        bandwidth["goodput"] = _curve(arrived["time_s"], arrived["throughput_mbps"])
    yield Quantity(f"{BBR}bandwidth-{group}", "", "", "bandwidth (Mbit/s)", False, group), bandwidth
    rtt, window = series.rtt(data), series.cwnd(data)
    if rtt.height > 1:
        yield Quantity(f"{BBR}rtt-{group}", "", "", "RTT (ms)", False, group), {"RTT": _curve(*rtt.get_columns())}
    if window.height > 1:
        curve = {"congestion window": _curve(*window.get_columns())}
        yield Quantity(f"{BBR}cwnd-{group}", "", "", "window (packets)", True, group), curve


def _start(data: FlowData, end_s: float) -> tuple[float, float] | None:
    """The first `_ROUND_TRIPS` round trips of the flow; None if that is most of the run."""
    least_ms = data.least_rtt_ms()
    start_s = data.start_ns / 1e9
    until_s = start_s + _ROUND_TRIPS * (least_ms or 0.0) / 1e3
    return (start_s, until_s) if start_s < until_s < 0.4 * end_s else None


def _reduced(curve: Curve, window: tuple[float, float] | None) -> Curve:
    return Curve(*reduce_series(*cut(curve.times, curve.values, window), COLUMNS))


def spoken(interval_ns: int) -> str:
    """The length of an interval in words."""
    if interval_ns == 10**9:
        return "second"
    return f"{interval_ns / 1e9:g} s" if interval_ns > 10**9 else f"{interval_ns / 1e6:g} ms"


def _curve(times: pl.Series, values: pl.Series) -> Curve:
    return Curve(times.to_numpy(), values.to_numpy())
