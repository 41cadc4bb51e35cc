"""BBR's state over time: its phases, gains, bandwidth estimate, RTT and window."""

from collections.abc import Sequence
from dataclasses import replace

from netwarp.analysis.catalogue.metrics import axis_of
from netwarp.analysis.flow.flows import FlowData
from netwarp.analysis.flow.phases import UNIT, BbrState, bbr_states
from netwarp.analysis.run import series
from netwarp.plots import look
from netwarp.plots.colours import looks
from netwarp.plots.labels import is_ordered, slug
from netwarp.plots.timeseries.figure_spec import Curve, FigureSpec, Quantity, Stack, Variant
from netwarp.plots.timeseries.figure_specs import left_out, subtitle
from netwarp.plots.timeseries.kinds.base import Call, Kind, Made, Named, Records, Script, Source, curve_of
from netwarp.plots.timeseries.run_set import PlottedRun, RunSet, some
from netwarp.plots.timeseries.series import COLUMNS, cut, reduce_series
from netwarp.store.result import ResultDir
from netwarp.store.rundir import RunDir

_BBR, _START = "bbr-", "-start"
"""The prefix of these quantities' stems, and the suffix of those of the start."""
_GAIN, _BANDWIDTH = "gain (times)", "bandwidth (Mbit/s)"
_MAX_BBR = 2
"""The number of compared values that each get a separate figure, at most."""
_ROUND_TRIPS = 60
"""The length of the figure of BBR's start: Startup, Drain and some cycles of ProbeBW, each eight round trips long."""
_STATE = '''
def bbr(run, ids, column, unit):
    """A column of BBR's state after each ACK."""
    acks = table(run, "acks").filter(pl.col("tuple_id").is_in(ids)).sort("time_ns", maintain_order=True)
    acks = acks.drop_nulls(["bbr_pacing_gain", "bbr_cwnd_gain", "bbr_bw_bps"])
    return acks["time_ns"] / 1e9, acks[column] / unit
'''


def _named(source: Source) -> Named:
    """The state of the first BBR flow of each name: of the whole run, and once more of its start."""
    run = source.run
    groups: set[str] = set()
    states = bbr_states(run, list(source.flows))
    for data in source.flows:
        state = states.get(data.flow.name)
        if state is None or data.flow.group in groups or len(state.times_ns) < 2:
            continue
        groups.add(data.flow.group)
        whole = look.current().xlim or (0.0, run.description.duration_ns / 1e9)
        found = list(_bbr_curves(run, data, state))
        for suffix, window in (("", whole), (_START, None if look.current().xlim else _start(data, whole[1]))):
            for quantity, curves in found if window else ():
                short = {name: _reduced(curve, window) for name, curve in curves.items()}
                yield replace(quantity, stem=quantity.stem + suffix), short


def _bbr_curves(run: RunDir, data: FlowData, state: BbrState) -> Named:
    group, times = data.flow.group, state.times_ns / 1e9
    gains = {"pacing gain": state.pacing_gains, "window gain (cwnd_gain)": state.window_gains}
    quantity = Quantity(f"{_BBR}gain-{group}", "", "", _GAIN, True, group)
    yield quantity, {name: Curve(times, values / UNIT) for name, values in gains.items()}
    bandwidth = {"bandwidth estimate": Curve(times, state.bandwidths_bps / 1e6)}
    arrived = series.throughput([data], series.whole_run(run), series.interval_ns(run, [data]))
    if arrived.height > 1:
        bandwidth["goodput"] = curve_of(arrived)
    yield Quantity(f"{_BBR}bandwidth-{group}", "", "", _BANDWIDTH, False, group), bandwidth
    rtt, window = series.rtt(data), series.cwnd(data)
    if rtt.height > 1:
        yield (
            Quantity(f"{_BBR}rtt-{group}", "", "", str(axis_of("flow", "rtt_ms")), False, group),
            {"RTT": curve_of(rtt)},
        )
    if window.height > 1:
        curve = {"congestion window": curve_of(window)}
        yield Quantity(f"{_BBR}cwnd-{group}", "", "", "window (packets)", True, group), curve


def _start(data: FlowData, end_s: float) -> tuple[float, float] | None:
    """The interval of the flow's first round trips, in seconds; None if it is most of the run."""
    least_ms = data.least_rtt_ms()
    start_s = data.start_ns / 1e9
    until_s = start_s + _ROUND_TRIPS * (least_ms or 0.0) / 1e3
    return (start_s, until_s) if start_s < until_s < 0.4 * end_s else None


def _reduced(curve: Curve, window: tuple[float, float] | None) -> Curve:
    return Curve(*reduce_series(*cut(curve.times, curve.values, window), COLUMNS))


def _figures(result: ResultDir, run_set: RunSet) -> Made:
    """BBR's gains, its bandwidth estimate, RTT and window, of the whole run and of its start, of a few runs."""
    if run_set.together:
        return
    having = [n for n, run in enumerate(run_set.runs) if any(q.stem.startswith(_BBR) for q in run.named)]
    shown = some(having, is_ordered([run_set.labels[n] for n in having]), _MAX_BBR)
    more = f"{len(shown)} of {len(having)} runs with BBR, the others: netwarp plot DIR --only VALUE"
    for number in shown:
        run, label = run_set.runs[number], run_set.labels[number]
        one = replace(run_set, labels=[label], runs=[run], looks=(), of=1)
        for group in dict.fromkeys(q.group for q in run.named if q.stem.startswith(_BBR)):
            columns = [rows for suffix in ("", _START) if (rows := _bbr_rows(run, group, suffix))]
            words = subtitle(result, one, [run], "left: the run, right: its start" if len(columns) > 1 else "")
            stem = "-".join([f"{_BBR}{slug(group)}", *([slug(label)] if len(having) > 1 else [])])
            out = left_out(result, one, [run], more if len(shown) < len(having) else "")
            yield (
                run_set.stem_of(stem),
                Stack(f"BBR's phases, gains and bandwidth estimate of {group}", words, columns, out),
                False,
            )


def _bbr_rows(run: PlottedRun, group: str, suffix: str) -> list[FigureSpec]:
    found = {q: curves for q, curves in run.named.items() if q.group == group and q.stem.startswith(_BBR)}
    rows = {q: curves for q, curves in found.items() if q.stem.endswith(_START) == bool(suffix)}
    if not rows or (suffix and look.current().narrow):
        return []
    times = [curve.times for curve in next(iter(rows.values())).values()]
    whole = look.current().xlim or (0.0, run.duration_s)
    limits = (float(min(t[0] for t in times)), float(max(t[-1] for t in times))) if suffix else whole
    specs: list[FigureSpec] = []
    for quantity, curves in rows.items():
        variants = [
            Variant(name, *drawn, [curve])
            for (name, curve), drawn in zip(curves.items(), looks(list(curves)), strict=True)
        ]
        if not specs:
            variants = [replace(variant, phases=run.phases.get(group, ())) for variant in variants]
        log = look.current().ylog
        specs.append(FigureSpec(quantity, "", "", run.duration_s, variants, run.changes, limits=limits, log=log))
    return specs


def _script(about: str, runs: Sequence[Records]) -> Script:
    """The script's content for the figure's run, or the first; `about` is a flow's name, then the run's label."""
    wanted = (
        (0, "pacing gain", "bbr_pacing_gain", 256),
        (0, "window gain", "bbr_cwnd_gain", 256),
        (1, "bandwidth estimate", "bbr_bw_bps", 1e6),
    )
    for one in sorted(runs, key=lambda one: not about.endswith(slug(one.label))):
        for data in one.flows:
            if about.startswith(slug(data.flow.group)) and data.flow.cc.startswith("bbr"):
                colours = looks([label for _, label, *_ in wanted])
                calls = [
                    Call(row, label, *colours[n], "bbr", (one.name, one.ids(data), column, unit))
                    for n, (row, label, column, unit) in enumerate(wanted)
                ]
                return Script(calls, [_GAIN, _BANDWIDTH], [0, 1])
    return Script([], [], [])


KIND = Kind(
    _BBR,
    "`bbr-FLOW`",
    "BBR's phases, pacing and window gain, bandwidth estimate, RTT and window; the whole run on the left, its first 60 "
    "round trips on the right",
    "`acks`",
    named=_named,
    figures=_figures,
    script=_script,
    readers={"bbr": _STATE},
    in_report=True,
)
