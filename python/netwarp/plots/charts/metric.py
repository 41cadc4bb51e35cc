"""The figure of a metric by axes, as a user names it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from netwarp.analysis.catalogue.metrics import label_of
from netwarp.analysis.run.distribution import COMPLETION, DISTRIBUTED, distributed_stem, distributions
from netwarp.analysis.summary.main_metrics import busiest_queue
from netwarp.analysis.summary.selection import (
    NAME,
    SEED,
    Cell,
    Selected,
    metric_names,
    names_of,
    select,
)
from netwarp.common.threads import on_each
from netwarp.common.words import did_you_mean
from netwarp.plots import style
from netwarp.plots.charts.chart import LEGEND_CHARS, MAX_DOTS, Chart, SeriesLook
from netwarp.plots.charts.kinds import KINDS, draw_chart
from netwarp.plots.colours import CATEGORICAL, DASHES, MAX_DISTINCT
from netwarp.plots.labels import in_order, numbers_of, slug, wrapped
from netwarp.plots.look import current
from netwarp.plots.once import once
from netwarp.plots.timeseries.comparison import MAX_SEEDS
from netwarp.plots.timeseries.figure_spec import Dash
from netwarp.plots.values import axis_values
from netwarp.stats.weighting import TimeWeighted, pool
from netwarp.store.errors import SelectionError, store_errors
from netwarp.store.files import make_folder
from netwarp.store.result import ResultDir, open_verified
from netwarp.store.run_status import RunStatus
from netwarp.store.summary import axis_text, axis_title

AUTO = "auto"
_MAP_FROM = 3
HATCHES = ("", "///", "...", "xxx", "\\\\\\", "ooo", "+++")
"""Hatching that distinguishes bars and boxes of one colour, as dashes distinguish lines."""
_DASHES: tuple[Dash, ...] = (*DASHES, (0, (8, 2)), (0, (3, 1, 1, 1, 1, 1)), (0, (1, 3)))


def draw_metric(
    result_dir: Path, metric: str, by: Sequence[str], *, kind: str, formats: Sequence[str], out: Path | None
) -> list[Path]:
    """Draw a metric by axes, one figure for each flow that has it (for queues and links, only the busiest).

    `metric` is `scope.name`; `scope.stem` without a statistic (`flow.rtt_ms`) is the distribution within the runs. `by`
    is at most two axes, the result's first two if empty. Raises SelectionError, StoreError.
    """
    result = open_verified(result_dir)
    folder = out or make_folder(result.plots)
    with store_errors(folder, "create"):
        folder.mkdir(exist_ok=True, parents=True)
    files: list[Path] = []
    with style.drawing():
        for stem, _, chart in charts(result, metric, by, kind):
            files += style.save(draw_chart(chart), folder / stem, tuple(formats))
    return files


def charts(result: ResultDir, metric: str, by: Sequence[str], kind: str = AUTO) -> Iterator[tuple[str, str, Chart]]:
    """The figures of `draw_metric`: the stem of each file, its kind, and the chart that `KINDS` draw.

    Other varied axes give a figure for each value if the axes are chosen by default, and in heat maps, which do not
    show the spread; else their runs are pooled, and the figure says so.
    """
    summary = result.summary()
    if kind not in (AUTO, *KINDS):
        raise SelectionError(f'"{kind}" is not a kind of figure{did_you_mean(kind, (AUTO, *KINDS))}')
    measured, bare = _measured(metric, metric_names(summary))
    axes = list(by) or _default_axes(result, summary["seed"].n_unique())
    scope, _, name = measured.partition(".")
    for names in _names(result, scope, name, axes):
        chosen = select(summary, result.axes, measured, axes, names)
        drawn = _kind(chosen, kind, bare)
        apart = drawn == "heatmap" or not by
        parts = list(_parts(summary, chosen, names)) if apart and chosen.pooled else [({}, chosen)]
        medians = [float(np.median(cell.values)) for _, part in parts for cell in part.cells]
        for place, part in parts:
            where = [(axis, axis_values(result, axis).label(value)) for axis, value in place.items()]
            words = [slug(word) for word in (part.name, *(f"by {axis_title(axis)}" for axis in axes), drawn) if word]
            stem = "--".join(["-".join([metric, *words]), *(slug(label) for _, label in where)])
            chart = _chart(result, _wanted(part), metric, drawn, bare)
            said = [f"{axis_title(axis)} {label}" for axis, label in where]
            chart = replace(
                chart,
                kind=drawn,
                subtitle=" · ".join([chart.subtitle, *said]),
                left_out=_left_out(result, part, place),
                span=(min(medians), max(medians)) if drawn == "heatmap" and len(parts) > 1 else None,
            )
            yield stem, drawn, chart


def _parts(summary: pl.DataFrame, chosen: Selected, names: Sequence[str]) -> Iterator[tuple[dict[str, Any], Selected]]:
    """The same for each combination of values on the axes that are not in it."""
    good = summary.filter(status=RunStatus.OK, scope=chosen.scope, metric=chosen.metric).filter(
        pl.col("name").is_in(names)
    )
    for values in good.select(chosen.pooled).unique(maintain_order=True).rows():
        place = dict(zip(chosen.pooled, values, strict=True))
        rows = summary.filter(*(pl.col(axis).eq_missing(pl.lit(value)) for axis, value in place.items()))
        metric = f"{chosen.scope}.{chosen.metric}"
        yield place, select(rows, [*chosen.by, *chosen.pooled], metric, chosen.by, names)


def _left_out(result: ResultDir, chosen: Selected, place: Mapping[str, Any]) -> list[str]:
    """Sentences on runs that do not count, and on values of the axes without results."""
    parts = []
    if chosen.suspect or chosen.failed:
        left = [f"{count} {word}" for count, word in ((chosen.suspect, "suspect"), (chosen.failed, "failed")) if count]
        parts.append(f"left out: {' and '.join(left)} run{'s' * (chosen.suspect + chosen.failed > 1)}")
    planned = [run for run in result.planned if all(run.point.get(axis) == value for axis, value in place.items())]
    for number, axis in enumerate(chosen.by):
        if axis in (NAME, SEED):
            continue
        shown = {axis_text(value) for value in chosen.values_of(number)}
        values = {axis_text(run.point.get(axis)): run.point.get(axis) for run in planned}
        if missing := [value for text, value in values.items() if text not in shown]:
            known = axis_values(result, axis)
            parts.append(f"no value for {axis_title(axis)} {', '.join(known.label(value) for value in missing)}")
    return parts


def _wanted(chosen: Selected) -> Selected:
    """The cells that `--only` names; all cells if it names none of them."""
    only = current().only
    for place in range(len(chosen.by)):
        if any(axis_text(cell.key[place]) in only for cell in chosen.cells):
            chosen = replace(chosen, cells=tuple(c for c in chosen.cells if axis_text(c.key[place]) in only))
    return chosen


def _measured(metric: str, known: Sequence[str]) -> tuple[str, bool]:
    """The metric to look up, and whether the user named a whole distribution."""
    scope, _, name = metric.partition(".")
    if name in DISTRIBUTED and DISTRIBUTED[name][0] == scope:
        # If no transfer was complete no quantile is known, but the distribution exists.
        stem = f"{scope}.transfers" if name == COMPLETION else f"{metric}_"
        found = next((one for one in known if one.startswith(stem)), None)
        if found is not None:
            return found, True
    return metric, False


def _default_axes(result: ResultDir, seeds: int) -> list[str]:
    return axes_for(result) or [SEED if seeds > 1 else NAME]


def axes_for(result: ResultDir) -> list[str]:
    """The axes of a figure that shows all that varies: first a numeric one if there is one, then the others, as far as
    their values can be told apart; at least two."""
    counts = {axis: len({axis_text(run.point.get(axis)) for run in result.planned}) for axis in result.axes}
    varied = [axis for axis in result.axes if counts[axis] > 1] or result.axes[:1]
    numbers = [axis for axis in varied if counts[axis] >= _MAP_FROM and _numbers(result, axis)]
    ordered = [*numbers[:1], *(axis for axis in varied if axis not in numbers[:1])]
    kept = ordered[:2]
    for axis in ordered[2:]:
        if np.prod([counts[one] for one in (*kept[1:], axis)]) <= MAX_DISTINCT:
            kept.append(axis)
    return kept


def _numbers(result: ResultDir, axis: str) -> bool:
    values = {axis_text(run.point.get(axis)): run.point.get(axis) for run in result.planned}
    return None not in values.values() and numbers_of(list(values.values())) is not None


def _names(result: ResultDir, scope: str, metric: str, by: Sequence[str]) -> Iterator[list[str]]:
    """The names in each figure: all together if names are compared, else each alone."""
    summary = result.summary()
    names = names_of(summary, scope, metric)
    if NAME in by:
        yield names
    elif scope in ("queue", "link") and (busiest := busiest_queue(summary)) in names:
        yield [busiest]
    else:
        yield from ([name] for name in [n for n in names if n in current().only] or names or [""])


def _kind(chosen: Selected, kind: str, bare: bool) -> str:
    """The kind of figure, chosen if it is `auto`. Raises SelectionError if it cannot be drawn."""
    if kind == AUTO:
        return "cdf" if bare else _fitting(chosen)
    if kind == "line" and numbers_of(chosen.values_of(0)) is None:
        raise SelectionError(f"lines need a numeric axis, and {chosen.by[0]} is not one; use --kind bar")
    if kind == "heatmap" and len(chosen.by) != 2:
        raise SelectionError("a heat map needs two axes: --by ONE,OTHER")
    if kind == "cdf" and not bare and distributed_stem(chosen.metric) is None and chosen.by != (SEED,):
        raise SelectionError(
            f"{chosen.metric} has no distribution within a run; those of "
            f"{', '.join(f'{scope}.{stem}' for stem, (scope, _) in DISTRIBUTED.items())} can be drawn as cdf"
        )
    return kind


def _fitting(chosen: Selected) -> str:
    """The best kind: lines over numbers, a map over two axes with enough values, a distribution of many seeds, else
    bars."""
    if chosen.by == (SEED,):  # its numbers have no meaning
        return "cdf" if len(chosen.cells) > MAX_SEEDS else "bar"
    counts = [len(chosen.values_of(place)) for place in range(len(chosen.by))]
    if len(chosen.by) == 2 and min(counts) >= _MAP_FROM and numbers_of(chosen.values_of(1)) is not None:
        return "heatmap"
    return "line" if counts[0] >= _MAP_FROM and numbers_of(chosen.values_of(0)) is not None else "bar"


def _chart(result: ResultDir, chosen: Selected, metric: str, kind: str, bare: bool) -> Chart:
    others = [in_order(chosen.values_of(place)) for place in range(1, len(chosen.by))]
    used = {cell.key[1:] for cell in chosen.cells}
    label = label_of(chosen.scope, metric.partition(".")[2])
    if kind == "cdf" and chosen.by == (SEED,) and not bare:
        return _runs_chart(result, chosen, label)
    named = metric.partition(".")[2] if bare else chosen.metric
    stem = distributed_stem(named) if kind == "cdf" or (bare and kind == "box") else None
    if stem is not None:
        label = label_of(chosen.scope, stem)
    xs = in_order(chosen.values_of(0))
    known = axis_values(result, chosen.by[0])
    return Chart(
        title=_title(label, chosen),
        subtitle=_subtitle(result, chosen, kind, stem),
        value_label=_value_label(label),
        axis_label=_axis_label(chosen, chosen.by[0]),
        series_label=", ".join(_axis_label(chosen, axis) for axis in chosen.by[1:]),
        xs=xs,
        x_texts=[known.label(x) for x in xs],
        x_looks=[known.look(x) if x is not None else (style.NEUTRAL, "-") for x in xs],
        looks=_series(result, chosen, [key for key in product(*others) if key in used]),
        cells={(cell.key[0], cell.key[1:]): cell.values for cell in chosen.cells},
        spread=_spread_once(result, chosen, stem) if stem else {},
        by_value=chosen.by[0] == NAME or known.by_name,
    )


def _series(result: ResultDir, chosen: Selected, keys: Sequence[tuple[Any, ...]]) -> list[SeriesLook]:
    """The looks of series: the most important axis decides the colour, the other axes dashes and hatching.

    Each combination of the other axes has its own dashes, so that a colour belongs to one value.
    """
    axes = chosen.by[1:]
    known = [axis_values(result, axis) for axis in axes]
    first = next((at for at, values in enumerate(known) if values.by_name), 0)
    others = list(dict.fromkeys((*key[:first], *key[first + 1 :]) for key in keys))
    found = []
    for key in keys:
        text = ", ".join(values.label(value) for values, value in zip(known, key, strict=True))
        if not key or key[first] is None:
            found.append(SeriesLook(key, wrapped(text, LEGEND_CHARS), style.NEUTRAL, "-"))
            continue
        colour, own = known[first].look(key[first])
        at = others.index((*key[:first], *key[first + 1 :])) if len(key) > 1 else DASHES.index(own)
        dash, hatch = _DASHES[at % len(_DASHES)], HATCHES[at % len(HATCHES)]
        found.append(SeriesLook(key, wrapped(text, LEGEND_CHARS), colour, dash, hatch))
    return found


def _runs_chart(result: ResultDir, chosen: Selected, label: str) -> Chart:
    """The distribution of a metric over repetitions, of which each has one value, rather than within them."""
    values = [value for cell in chosen.cells for value in cell.values]
    key: tuple[str, tuple[Any, ...]] = ("all", ())
    return Chart(
        title=f"{_subject(label, chosen)} over {len(values)} runs",
        subtitle=_subtitle(result, chosen, "cdf", None),
        value_label=_value_label(label),
        axis_label="runs",
        series_label="",
        xs=[key[0]],
        x_texts=[key[0]],
        x_looks=[(CATEGORICAL[0], "-")],
        looks=[SeriesLook(key[1], "", CATEGORICAL[0], "-")],
        cells={key: tuple(values)},
        spread={key: TimeWeighted(np.array(values), np.ones(len(values), np.int64))},
    )


def _value_label(label: str) -> str:
    return label[0].lower() + label[1:] if not label.startswith(("RTT", "Jain")) else label


def _spread_once(result: ResultDir, chosen: Selected, stem: str) -> Mapping[tuple[Any, tuple[Any, ...]], TimeWeighted]:
    cells = tuple((cell.key, cell.run_ids, _name(chosen, cell)) for cell in chosen.cells)
    return once((result.path, chosen.scope, stem, cells), lambda: _spread(result, chosen, stem))


def _spread(result: ResultDir, chosen: Selected, stem: str) -> dict[tuple[Any, tuple[Any, ...]], TimeWeighted]:
    """The weighted distribution in each cell; each run is read once."""
    wanted: dict[str, list[str]] = {}
    for cell in chosen.cells:
        for run_id in cell.run_ids:
            wanted.setdefault(run_id, []).append(_name(chosen, cell))
    read = on_each(lambda one: distributions(result.run(one[0]), chosen.scope, stem, one[1]), wanted.items())
    found = dict(zip(wanted, read, strict=True))
    spread = {}
    for cell in chosen.cells:
        name = _name(chosen, cell)
        held = pool([found[run_id][name] for run_id in cell.run_ids])
        if len(held) == 0:
            why = "; ".join(result.absent_records()) or "record it with `exact = true`"
            raise SelectionError(f"the records of {name} have no {chosen.scope}.{stem}; {why}")
        spread[(cell.key[0], cell.key[1:])] = held
    if not any(np.isfinite(held.values).any() for held in spread.values()):
        raise SelectionError(f"no {chosen.scope}.{stem} is known: nothing was complete when the runs ended")
    return spread


def _name(chosen: Selected, cell: Cell) -> str:
    return str(cell.key[chosen.by.index(NAME)]) if NAME in chosen.by else chosen.name


def _title(label: str, chosen: Selected) -> str:
    return f"{_subject(label, chosen)}, by {' and '.join(_axis_label(chosen, axis) for axis in chosen.by)}"


def _subject(label: str, chosen: Selected) -> str:
    """The metric and the names that are drawn, in words."""
    words = label.partition(" (")[0]
    return f"{words[0].upper()}{words[1:]}" + (f" of {chosen.name}" if chosen.name else "")


def _axis_label(chosen: Selected, axis: str) -> str:
    """An axis in words; for names their scope: `flow`, `queue`."""
    return chosen.scope if axis == NAME else axis_title(axis)


def _subtitle(result: ResultDir, chosen: Selected, kind: str, stem: str | None) -> str:
    """The scenario, the meaning of a value, the number of runs, and the runs that were left out."""
    counts = {len(cell.values) for cell in chosen.cells}
    many = f"{min(counts)} to {max(counts)}" if len(counts) > 1 else str(max(counts))
    parts = [str(result.plan.get("name", ""))]
    if stem is None and (summed_up := distributed_stem(chosen.metric)) is not None:
        parts.append(f"weighted by {DISTRIBUTED[summed_up][1].partition(',')[0]}")
    if stem is not None:
        parts.append(f"share of {DISTRIBUTED[stem][1]}" + (f", {many} runs together" if max(counts) > 1 else ""))
    elif kind == "cdf":
        parts.append("share of runs")
    elif max(counts) == 1:
        parts.append("one run each")
    else:
        what = {"box": "box of", "heatmap": "median of"}.get(kind, "median of")
        dots = {"box": "", "heatmap": ""}.get(
            kind, ", dots: each" if max(counts) <= MAX_DOTS else ", span: middle half"
        )
        parts.append(f"{what} {many} runs{dots}")
    if kind == "box" and stem is not None:
        parts.append("box: middle half, whiskers: 5 to 95 %")
    if chosen.seeds > 1:
        parts.append(f"{chosen.seeds} seeds")
    parts += [f"over all {axis_title(axis)}" for axis in chosen.pooled]
    return " · ".join(part for part in parts if part)
