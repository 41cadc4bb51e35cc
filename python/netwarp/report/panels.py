"""The data of the page's interactive panels over time: measures × runs × flows, reduced."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import polars as pl

from netwarp.analysis.flow.flows import load_flows
from netwarp.analysis.flow.phases import Phase, flow_phases
from netwarp.common.threads import on_each
from netwarp.plots.colours import looks
from netwarp.plots.labels import is_ordered
from netwarp.plots.timeseries.kinds import KINDS
from netwarp.plots.timeseries.kinds.base import Measure, Source
from netwarp.plots.timeseries.series import reduce_series
from netwarp.plots.values import words_of
from netwarp.report.selection import Choice, at, members
from netwarp.stats.weighting import Values
from netwarp.store.result import ResultDir
from netwarp.store.run_status import RunStatus
from netwarp.store.rundir import RunDir
from netwarp.store.summary import axis_text, axis_title
from netwarp.values.json_values import Json

BUDGET_SAMPLES = 260_000
"""The most samples in all panels together: about 2 MB of the page."""
_MAX_COLUMNS, _MIN_COLUMNS = 900, 40
_SAMPLES_A_COLUMN = 3
_TICK_S = 1e-4
_DIGITS = 4
_LOG_FROM = 30
_PHASES = [phase.value for phase in Phase]


@dataclass(frozen=True)
class _Curve:
    measure: Measure
    flow: str
    times: Values
    values: Values


def panels(result: ResultDir, choice: Choice, queues: Sequence[str]) -> dict[str, Json]:
    """The panels' data as JSON; `queues` names the queues to show (`link:node`).

    Times are whole ticks of `tick_s`, values whole multiples of their curve's `unit`; both are given as differences
    from the previous one (null: a gap).
    """
    loaded = on_each(lambda run: _load(result.run(run.id), queues), choice.runs)
    curves = list(chain.from_iterable(found for found, _, _ in loaded))
    columns = _columns(curves)
    measures = list({curve.measure.key: curve.measure for curve in curves}.values())
    measures.sort(key=_rank)
    axes = {axis: words_of([at(run, axis) for run in choice.runs]) for axis in choice.axes}
    flows = list(dict.fromkeys(curve.flow for curve in curves if curve.flow))
    omitted = dict.fromkeys(chain(choice.omitted, *(sentences for _, _, sentences in loaded)))
    return {
        "tick_s": _TICK_S,
        "columns": columns,
        "axes": [_axis(axis, words, [at(run, axis) for run in choice.runs]) for axis, words in axes.items()],
        "flows": flows,
        "flow_colours": [colour for colour, _ in looks(flows)],
        "phases": _PHASES,
        "measures": [vars(measure) | {"log": _wants_log(measure, curves)} for measure in measures],
        "omitted": list(omitted),
        "runs": [
            _run_json(
                result.run(run.id),
                run.seed,
                [words[axis_text(at(run, axis))] for axis, words in axes.items()],
                found,
                phases,
            )
            | {"curves": [_curve_json(curve, measures, flows, columns) for curve in found]}
            for run, (found, phases, _) in zip(choice.runs, loaded, strict=True)
        ],
    }


def _run_json(
    run: RunDir, seed: int, point: list[str], curves: Sequence[_Curve], phases: dict[str, list[list[float]]]
) -> dict[str, Json]:
    changes: list[list[Json]] = [[change.at_ns / 1e9, change.what] for change in run.description.changes]
    return {
        "id": run.path.name,
        "seed": seed,
        "at": point,
        "suspect": run.status()["status"] == RunStatus.SUSPECT,
        "duration_s": run.description.duration_ns / 1e9,
        "warmup_s": run.description.warmup_ns / 1e9,
        "changes": changes,
        "phases": phases,
    }


def _axis(path: str, words: Mapping[str, str], values: Sequence[Any]) -> dict[str, Json]:
    """An axis with its values as they are shown, each with its colour."""
    ordered = is_ordered(list({axis_text(value): value for value in values if value is not None}.values()))
    return {
        "path": path,
        "title": axis_title(path),
        "values": list(words.values()),
        "colours": [colour for colour, _ in looks(list(words), ordered)],
    }


def _load(run: RunDir, queues: Sequence[str]) -> tuple[list[_Curve], dict[str, list[list[float]]], list[str]]:
    """A run's curves at the finest reduction, the BBR phases of its flows, and sentences on omitted curves."""
    everyone = load_flows(run, transits=False)
    flows, omitted = members(everyone)
    source = Source(run, flows, everyone, queues)
    curves = [
        _Curve(measure, flow, *_reduced(frame, _MAX_COLUMNS))
        for measure, flow, frame in chain.from_iterable(kind.panels(source) for kind in KINDS)
        if frame.height > 1
    ]
    phases = {
        name: [[_PHASES.index(span.phase.value), round(span.start_s, 4), round(span.end_s, 4)] for span in spans]
        for name, spans in flow_phases(run, flows).items()
    }
    return curves, phases, omitted


def _rank(measure: Measure) -> int:
    order = ["goodput", "rtt", "delay", "cwnd", "jain"]
    return order.index(measure.key) if measure.key in order else len(order)


def _reduced(frame: pl.DataFrame, columns: int) -> tuple[Values, Values]:
    return reduce_series(frame["time_s"].to_numpy(), frame[frame.columns[1]].to_numpy(), columns)


def _columns(curves: Sequence[_Curve]) -> int:
    """The most columns of a curve with which all curves together fit the budget, halved until they do."""
    columns = _MAX_COLUMNS
    while columns > _MIN_COLUMNS:
        if sum(min(len(curve.times), _SAMPLES_A_COLUMN * columns) for curve in curves) <= BUDGET_SAMPLES:
            break
        columns = columns * 4 // 5
    return columns


def _wants_log(measure: Measure, curves: Sequence[_Curve]) -> bool:
    """Whether the ordinary RTTs of some runs are so much smaller that a linear axis would hide them."""
    if measure.unit != "ms":
        return False
    held = [curve.values[np.isfinite(curve.values)] for curve in curves if curve.measure.key == measure.key]
    levels = [np.percentile(values, [1, 99]) for values in held if len(values)]
    if not levels:
        return False
    low, high = min(float(level[0]) for level in levels), max(float(level[1]) for level in levels)
    return low > 0 and high / low > _LOG_FROM


def _curve_json(curve: _Curve, measures: Sequence[Measure], flows: Sequence[str], columns: int) -> dict[str, Json]:
    times, values = reduce_series(curve.times, curve.values, columns)
    peak = float(np.nanmax(np.abs(values), initial=0.0)) if np.isfinite(values).any() else 0.0
    whole = bool(np.all(np.isnan(values) | (values == np.round(values))))
    unit = 1.0 if whole else 10.0 ** (int(np.ceil(np.log10(peak or 1.0))) - _DIGITS)
    return {
        "m": [measure.key for measure in measures].index(curve.measure.key),
        "f": flows.index(curve.flow) if curve.flow else -1,
        "unit": unit,
        "t": _differences(np.round(times / _TICK_S)),
        "v": _differences(np.round(values / unit)),
    }


def _differences(values: Values) -> list[int | None]:
    """Whole numbers as differences from the previous one that is not a gap."""
    present = np.isfinite(values)
    steps = np.diff(values[present], prepend=0.0).astype(np.int64).tolist()
    if present.all():
        return list(steps)
    found: list[int | None] = [None] * len(values)
    for place, step in zip(np.flatnonzero(present), steps, strict=True):
        found[place] = step
    return found
