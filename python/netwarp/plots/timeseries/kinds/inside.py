"""The inner state of queues over time: of the discipline, of CAKE's tins, of flow queues, of htb's classes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from netwarp.analysis.queue.states import QueueStates, load_queue_states, red_average
from netwarp.plots import look
from netwarp.plots.colours import MAX_DISTINCT
from netwarp.plots.labels import slug
from netwarp.plots.timeseries.figure_spec import Curve, Quantity
from netwarp.plots.timeseries.figure_specs import lines_of
from netwarp.plots.timeseries.kinds.base import (
    Call,
    Frames,
    Kind,
    Made,
    Measure,
    Named,
    Panels,
    Records,
    Script,
    Source,
    curve_of,
)
from netwarp.plots.timeseries.run_set import RunSet
from netwarp.plots.timeseries.series import COLUMNS, cut, reduce_series
from netwarp.store.description import End
from netwarp.store.result import ResultDir
from netwarp.store.rundir import RunDir

_INSIDE = "inside-"
_HOW = "at each sample, as the queue reports it"
_AVERAGE = "average"


class _Shown(NamedTuple):
    """A variable in figures: its name, label and unit of the axis, and its unit in units of the axis."""

    words: str
    label: str
    unit: str = ""
    scale: float = 1.0

    @property
    def axis(self) -> str:
        """The label of the axis."""
        return f"{self.label} ({self.unit})" if self.unit else self.label


_RED = _Shown("RED's average", "average", "kB", 1e-3)
_WHOLE: Mapping[str, _Shown] = {
    "prob": _Shown("Probability of dropping or marking", "probability"),
    "count": _Shown("CoDel's count", "count"),
    "dropping": _Shown("Whether CoDel is dropping", "dropping"),
    "ldelay_us": _Shown("Delay that CoDel saw last", "delay", "ms", 1e-3),
    "delay_us": _Shown("Delay that PIE controls", "delay", "ms", 1e-3),
    "maxprob": _Shown("Largest probability of SFB's bins", "probability"),
    "active_queues": _Shown("Flow queues with packets", "flow queues"),
    "memory_usage_bytes": _Shown("Memory of the queue's packets", "memory", "kB", 1e-3),
}
"""Variables of disciplines that are compared between runs; a figure for each."""
_READ = '''
def queue_state(run, interface, name, scale):
    """A variable of a queueing discipline at each sample."""
    rows = table(run, "queue_states").filter(
        pl.col("tin").is_null(), pl.col("handle") % 65536 == 0, interface_index=interface, name=name
    )
    rows = rows.filter(pl.col("handle") == pl.col("handle").first()).sort("time_ns", maintain_order=True)
    return rows["time_ns"] / 1e9, rows["value"] * scale
'''


def _shown(run: RunDir) -> Iterator[tuple[End, str, str, _Shown, pl.DataFrame]]:
    """The variables of disciplines: the end, the variable's name, how it is known, its look and its values."""
    for states in load_queue_states(run):
        average = red_average(run, states.end)
        yield states.end, _AVERAGE, "at each arrival, computed from the packets", _RED, _scaled(average, _RED)
        for name, shown in _WHOLE.items():
            yield states.end, name, _HOW, shown, _scaled(states.whole(name), shown)


def _scaled(frame: pl.DataFrame, shown: _Shown) -> pl.DataFrame:
    return frame.with_columns(pl.col("value") * shown.scale)


def _frames(source: Source) -> Frames:
    for end, name, how, shown, frame in _shown(source.run):
        title = f"{shown.words}, {_place(end)}"
        yield Quantity(f"{_stem(end)}-{name.removesuffix('_us')}", title, how, shown.axis, True, empties=True), frame


def _panels(source: Source) -> Panels:
    for end, name, how, shown, frame in _shown(source.run):
        title = f"{shown.words}, {_place(end)}"
        yield Measure(f"{name} {end.name}", title, how, shown.unit or shown.label, True), "", frame


def _stem(end: End) -> str:
    return f"{_INSIDE}{end.link}-{end.node}"


def _place(end: End) -> str:
    return f"{end.node} into {end.link}"


class _Together(NamedTuple):
    """Several curves of one queue: the end of the figure's name, its title, the axis, and the unit in that one."""

    name: str
    title: str
    axis: str
    scale: float
    curves: Callable[[QueueStates], Mapping[str, pl.DataFrame]]


def _of_names(**names: str) -> Callable[[QueueStates], Mapping[str, pl.DataFrame]]:
    return lambda states: {label.replace("_", " "): states.whole(name) for label, name in names.items()}


def _of_tins(name: str) -> Callable[[QueueStates], Mapping[str, pl.DataFrame]]:
    return lambda states: {f"tin {tin}": frame for tin, frame in states.tins(name).items()}


def _tin_rates(states: QueueStates) -> Mapping[str, pl.DataFrame]:
    """The rate at which bytes came into each tin, between samples."""
    rate = pl.col("value").diff() / pl.col("time_s").diff()
    return {
        f"tin {tin}": frame.with_columns(pl.col("time_s").rolling_mean(2), rate).drop_nulls()
        for tin, frame in states.tins("sent_bytes").items()
    }


def _flow_backlogs(states: QueueStates) -> Mapping[str, pl.DataFrame]:
    """The longest flow queues of fq_codel and CAKE, by their numbers."""
    found = {**states.backlogs("fq_codel"), **states.backlogs("cake")}
    longest = sorted(found, key=lambda handle: -float(found[handle]["value"].sum()))[:MAX_DISTINCT]
    return {f"flow queue {handle & 0xFFFF}": found[handle] for handle in sorted(longest)}


def _tokens(states: QueueStates) -> Mapping[str, pl.DataFrame]:
    """The tokens of the user's classes; those of netwarp's own shaper are a packet's."""
    if states.end.rates is not None:
        return {}
    found = states.classes("htb", "tokens_ns")
    return {f"class {handle >> 16:x}:{handle & 0xFFFF:x}": frame for handle, frame in found.items()}


_TOGETHER = (
    _Together(
        "delays",
        "Delay of both queues of DualPI2",
        "delay (ms)",
        1e-3,
        _of_names(C_queue="delay_c_us", L_queue="delay_l_us"),
    ),
    _Together("backlogs", "Bytes in the longest flow queues", "backlog (kB)", 1e-3, _flow_backlogs),
    _Together("tins", "Rate into each tin of CAKE", "rate (Mbit/s)", 8e-6, _tin_rates),
    _Together("tin-backlogs", "Bytes in each tin of CAKE", "backlog (kB)", 1e-3, _of_tins("backlog_bytes")),
    _Together("tin-delays", "Average delay of each tin of CAKE", "delay (ms)", 1e-3, _of_tins("avg_delay_us")),
    _Together(
        "flows",
        "Flows in the lists of the queue",
        "flows",
        1.0,
        _of_names(new_flows="new_flows_len", old_flows="old_flows_len"),
    ),
    _Together("tokens", "Tokens of htb's classes", "tokens (ms)", 1e-6, _tokens),
)
"""The most telling first: the page shows the first that a result has."""


def _named(source: Source) -> Named:
    for states in load_queue_states(source.run):
        for what in _TOGETHER:
            curves = {label: frame for label, frame in what.curves(states).items() if frame.height > 1}
            if curves:
                rate = what.name == "tins"
                how = "between samples" if rate else _HOW
                title = f"{what.title}, {_place(states.end)}"
                quantity = Quantity(f"{_stem(states.end)}-{what.name}", title, how, what.axis, not rate, empties=True)
                yield quantity, {label: _reduced(frame, what.scale) for label, frame in curves.items()}


def _reduced(frame: pl.DataFrame, scale: float) -> Curve:
    curve = curve_of(frame)
    return Curve(*reduce_series(*cut(curve.times, np.asarray(curve.values) * scale, look.current().xlim), COLUMNS))


def _figures(result: ResultDir, run_set: RunSet) -> Made:
    if run_set.together:
        return
    for quantity in dict.fromkeys(q for run in run_set.runs for q in run.named if q.stem.startswith(_INSIDE)):
        yield run_set.stem_of(quantity.stem), lines_of(result, run_set, quantity), True


def _script(about: str, runs: Sequence[Records]) -> Script:
    """The curves of a variable of a discipline. Scripts do not draw the parts that a figure shows."""
    calls: list[Call] = []
    axis = ""
    for one in runs:
        for states in load_queue_states(one.run):
            place = slug(f"{states.end.link}-{states.end.node}")
            for name, shown in _WHOLE.items():
                if about == f"{place}-{slug(name.removesuffix('_us'))}" and states.whole(name).height:
                    given = (one.name, states.end.interface_index, name, shown.scale)
                    calls.append(Call(0, one.label, *one.look, "queue_state", given))
                    axis = shown.axis
    return Script(calls, [axis], [0]) if calls else Script([], [], [])


KIND = Kind(
    _INSIDE,
    "`inside-LINK-NODE-WHAT`",
    "the inner state of a queue that `queue_states` of `[record]` names: `prob`, `count`, `average` (RED) …, "
    "`delays` of DualPI2's queues, `tins` of CAKE, `flows` and `backlogs` of flow queues, `tokens` of htb",
    "`queue_states`, `packets`",
    frames=_frames,
    named=_named,
    figures=_figures,
    panels=_panels,
    script=_script,
    readers={"queue_state": _READ},
    in_report=True,
)
