"""Chooses the runs that a figure shows side by side, and the references with which it compares them."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

from netwarp.analysis.summary.main_metrics import busiest_queue
from netwarp.analysis.summary.selection import SEED
from netwarp.common.threads import on_each
from netwarp.plots import look
from netwarp.plots.colours import QUEUE_DISCIPLINES
from netwarp.plots.labels import is_ordered, natural_key, slug
from netwarp.plots.legibility import fits_one_panel
from netwarp.plots.once import once
from netwarp.plots.timeseries.curves import RunCurves, duration_s, run_curves, schedules
from netwarp.plots.timeseries.run_set import PlottedRun, RunSet, some
from netwarp.plots.values import axis_values, of_values
from netwarp.store.result import ResultDir
from netwarp.store.run_status import RunStatus
from netwarp.store.rundir import RunDir
from netwarp.store.summary import CASE, PlannedRun, axis_text, axis_title
from netwarp.values.json_values import Json

TUNER, DEFAULT_TUNER, KERNEL = "run.tuner", "default", "kernel"
MAX_SEEDS = 8
"""The most seeds whose lines can be told apart."""


@dataclass(frozen=True)
class Comparison:
    """A set of runs to compare by the values of an axis, whose records are not read yet; `stem` as in `RunSet`."""

    axis: str
    stem: str
    read: Callable[[], RunSet]


Reader = Callable[[int, str | None], PlottedRun]
"""Reads the run of a number, with the curves of a queue (`link:node`)."""


def run_sets(result: ResultDir, curves_of: Callable[[RunDir], RunCurves] | None = None) -> Iterator[RunSet]:
    """The comparisons of a result's figures, each read when it is needed; see `comparisons`."""
    return (comparison.read() for comparison in comparisons(result, curves_of))


def comparisons(result: ResultDir, curves_of: Callable[[RunDir], RunCurves] | None = None) -> Iterator[Comparison]:
    """The comparisons of a result's figures; `curves_of` reads the curves of a run, by default all quantities.

    They compare tuners with the default, or kernels, or the values of the sweep's first axis, for each combination of
    the others, and then those of each other axis; without axes the cases, or the seeds. The first of several seeds
    stands for all. If the scenario names a baseline, cases that set the same paths are compared with each other and
    with it; if another axis is compared, each run is compared with its counterpart in the baseline. Of more values than
    can be told apart some are shown; of more seeds, their median and bands.
    """
    axes = compared_axes(result)[: None if curves_of is None else 1]
    runs = list(_wanted(result, _first_seeds(result, axes[0])))
    together = curves_of is None and axes[0] == SEED and len(runs) > MAX_SEEDS

    @cache
    def shown(number: int, queue: str | None) -> PlottedRun:
        run = runs[number]
        if curves_of is not None:
            return _shown(result.run(run.id), run, curves_of)
        seen = look.current()
        read = partial(run_curves, queue=queue, average=together)
        key = (result.run_path(run.id), queue, together, seen.xlim, seen.only)
        return once(key, lambda: _shown(result.run(run.id), run, read))

    if axes[0] == CASE and result.baseline is not None and len(runs) > 1:
        yield from _against_baseline(result, runs, shown)
        return
    for place, axis in enumerate(axes):
        every = together or curves_of is not None
        yield from _of_axis(result, runs, axis, shown, every=every, together=together, first=place == 0)


def _of_axis(
    result: ResultDir,
    runs: Sequence[PlannedRun],
    axis: str,
    shown: Reader,
    *,
    every: bool,
    together: bool,
    first: bool,
) -> Iterator[Comparison]:
    """The comparisons by one axis, with `every` of all values; an axis that is not the `first` needs several values."""
    places = {_place(run.point): number for number, run in enumerate(runs)}
    queue, values = _queue(result, axis), axis_values(result, axis)
    groups: dict[tuple[str, ...], list[int]] = {}
    for number, run in enumerate(runs):
        groups.setdefault(_rest(run, axis), []).append(number)
    for rest, group in _by_discipline(result, runs, groups, axis, queue):
        default, alike = _behind(runs, group) if axis == TUNER else ([], group)
        if not first and len(alike) < 2:
            continue
        ordered = is_ordered([_value(runs[number], axis) for number in alike])
        if ordered:  # else in the scenario's order
            alike.sort(key=lambda number: natural_key(_value(runs[number], axis)))
        kept = alike if every else some(alike, ordered)
        place = {path: value for path, value in runs[alike[0]].point.items() if path != axis}
        words = [_placed(result, path, value) for path, value in place.items()]
        if len(rest) > len(place):
            place["queue"] = rest[-1]
            words.append(f"queue {rest[-1]}")
        parts = [_label(result, path, value) for path, value in place.items()]
        stem = slug("-".join(parts if first else [f"by {axis_title(axis)}", *parts])) if parts or not first else ""
        points = [_value(runs[number], axis) for number in kept]
        empty = RunSet(
            differs=axis_title(axis),
            labels=[values.label(value) for value in points],
            runs=(),
            rest=place,
            stem=stem,
            together=together,
            of=len(alike),
            looks=[values.look(value) for value in points],
            place=words,
        )
        behind = [(DEFAULT_TUNER, default[0])] if default else _in_baseline(result, runs, kept, place, places)
        yield Comparison(axis, stem, partial(_read, shown, queue, kept, behind, empty))


def _in_baseline(
    result: ResultDir,
    runs: Sequence[PlannedRun],
    kept: Sequence[int],
    place: Mapping[str, Json],
    places: Mapping[tuple[str, ...], int],
) -> list[tuple[str, int]]:
    """The counterpart of each run in the baseline; none if these are in it, or if a run has no counterpart."""
    case = result.baseline
    if case is None or place.get(CASE, case) == case:
        return []
    found = [places.get(_place({**runs[number].point, CASE: case})) for number in kept]
    return [] if None in found else [(case, number) for number in found if number is not None]


def _read(
    shown: Reader, queue: str | None, kept: Sequence[int], behind: Sequence[tuple[str, int]], empty: RunSet
) -> RunSet:
    """The set with its runs, and the runs behind them."""
    runs = on_each(lambda number: shown(number, queue), [*kept, *(number for _, number in behind)])
    references = [(label, run) for (label, _), run in zip(behind, runs[len(kept) :], strict=True)]
    return replace(empty, runs=runs[: len(kept)], references=references or ())


def _label(result: ResultDir, path: str, value: Any) -> str:
    """A value as it is in file names: as written, or the name of a module's file."""
    text = axis_text(value)
    return axis_values(result, path).label(value) if text.startswith(("file:", "program:")) else text


def _placed(result: ResultDir, path: str, value: Any) -> str:
    label = axis_values(result, path).label(value) if path in result.axes else axis_text(value)
    return axis_text(value) if path == CASE else f"{axis_title(path)} {label}"


def _behind(runs: Sequence[PlannedRun], group: Sequence[int]) -> tuple[list[int], list[int]]:
    """Divide runs that differ by their tuner: the one without a tuner, which is drawn behind the others, and these."""
    default = [number for number in group if runs[number].point.get(TUNER) == DEFAULT_TUNER]
    others = [number for number in group if number not in default]
    return (default, others) if others else ([], default)


def _by_discipline(
    result: ResultDir,
    runs: Sequence[PlannedRun],
    groups: Mapping[tuple[str, ...], list[int]],
    axis: str,
    queue: str | None,
) -> Iterator[tuple[tuple[str, ...], list[int]]]:
    """The groups; more cases than can be told apart are divided by the discipline of the queue under test."""
    for rest, alike in groups.items():
        if axis != CASE or fits_one_panel(len(alike), ordered=False):
            yield rest, alike
            continue
        parts: dict[str, list[int]] = {}
        for number in alike:
            case = axis_text(runs[number].point[CASE])
            parts.setdefault(_discipline(result.run(runs[number].id), queue, case), []).append(number)
        for discipline, members in parts.items():
            yield ((*rest, discipline), members) if len(parts) > 1 else (rest, members)


def _discipline(run: RunDir, queue: str | None, case: str) -> str:
    """The discipline of a queue, such as `red`; "other" if it is unknown.

    For a chain of tc commands it is the discipline that the case is named after.
    """
    link, _, node = (queue or "").rpartition(":")
    found = [way for one in run.network.links if one.name == link for way in one.directions if way.source == node]
    if not found or not (found[0].queue or found[0].raw):
        return "other"
    if found[0].queue:
        return found[0].queue.split()[0]
    named = [word for word in re.findall(r"[a-z0-9]+", case.lower()) if word in QUEUE_DISCIPLINES]
    chain = [word for command in found[0].raw for word in command.split() if word in QUEUE_DISCIPLINES]
    return next((kind for word in named for kind in chain if kind.startswith(word)), named[0] if named else "other")


def compared_axes(result: ResultDir) -> list[str]:
    """The axes whose values figures compare, the most important first: tuners or kernels, then the swept ones.

    Without those it is the cases, or the seeds. An axis with one value is left out unless there is no other.
    """
    axes = sorted(result.axes, key=lambda axis: (axis not in (TUNER, KERNEL), axis == CASE))
    several = [axis for axis in axes[1:] if len({axis_text(run.point.get(axis)) for run in result.planned}) > 1]
    return [*axes[:1], *several] or [SEED]


def _against_baseline(result: ResultDir, runs: Sequence[PlannedRun], shown: Reader) -> Iterator[Comparison]:
    """The comparisons of cases that set the same paths, with the baseline; cases that set several have their names."""
    queue = _queue(result, CASE)
    cases = {str(run.point[CASE]): number for number, run in enumerate(runs)}
    baseline = cases.pop(str(result.baseline), None)
    paths: dict[tuple[str, ...], list[str]] = {}
    for run in result.planned:
        if run.point[CASE] != result.baseline:
            case = str(run.point[CASE])
            paths.setdefault(tuple(result.settings_of(case)), []).append(case)
    for varied, planned in paths.items():
        names = [name for name in dict.fromkeys(planned) if name in cases]
        if not names:
            continue
        differs, values = axis_title(CASE), {name: name for name in planned}
        behind = str(result.baseline)
        if len(varied) == 1:
            differs = axis_title(varied[0])
            values = {name: axis_text(result.settings_of(name)[varied[0]]) for name in planned}
            usual = result.usual_value(varied[0])
            behind = behind if usual is None else f"{axis_text(usual)} ({behind})"
        known = of_values(list(values.values()), varied[0] if len(varied) == 1 else CASE)
        if known.ordered:
            names.sort(key=lambda name: natural_key(values[name]))
        stem = slug("-".join(varied))
        empty = RunSet(
            differs,
            [known.label(values[name]) for name in names],
            (),
            {},
            stem,
            looks=[known.look(values[name]) for name in names],
        )
        references = [] if baseline is None else [(behind, baseline)]
        yield Comparison(CASE, stem, partial(_read, shown, queue, [cases[name] for name in names], references, empty))


def _shown(directory: RunDir, run: PlannedRun, curves_of: Callable[[RunDir], RunCurves]) -> PlottedRun:
    found = curves_of(directory)
    steps = tuple(schedules(directory.description))
    changes = [(c.at_ns / 1e9, c.besides_the_rate if steps else c.what) for c in directory.description.changes]
    return PlottedRun(
        id=run.id,
        point=run.point,
        suspect=directory.status()["status"] == RunStatus.SUSPECT,
        seed=run.seed,
        duration_s=duration_s(directory),
        curves=found.curves,
        phases=found.phases,
        bands=found.bands,
        named=found.named,
        changes=tuple((at_s, f"{at_s:g} s {words}" if words else "") for at_s, words in changes),
        schedules=steps,
    )


def _first_seeds(result: ResultDir, axis: str) -> Iterator[PlannedRun]:
    """The run with the lowest seed that did not fail at each point (all seeds if seeds are compared)."""
    seen = set()
    for run in sorted(result.planned, key=lambda run: run.seed):
        if not result.is_complete(run.id) or result.run(run.id).status()["status"] == RunStatus.FAILED:
            continue
        point = (*_place(run.point), *((run.seed,) if axis == SEED else ()))
        if point not in seen:
            seen.add(point)
            yield run


def _wanted(result: ResultDir, runs: Iterator[PlannedRun]) -> Iterator[PlannedRun]:
    """The runs that have one of the values of `--only`; all if it names no value."""
    values = {axis_text(value) for run in result.planned for value in run.point.values()}
    named = [name for name in look.current().only if name in values]
    for run in runs:
        if not named or any(axis_text(value) in named for value in run.point.values()):
            yield run


def _queue(result: ResultDir, axis: str) -> str | None:
    """The queue to draw: the busiest of the link that the axis is about, or of all links."""
    summary = result.summary()
    parts = axis.split(".")
    if parts[0] == "links" and len(parts) > 2:
        about = busiest_queue(summary.filter(summary["name"].str.starts_with(parts[1] + ":")))
        if about is not None:
            return about
    return busiest_queue(summary)


def _value(run: PlannedRun, axis: str) -> Any:
    return run.seed if axis == SEED else run.point.get(axis)


def _rest(run: PlannedRun, axis: str) -> tuple[str, ...]:
    return _place({path: value for path, value in run.point.items() if path != axis})


def _place(point: Mapping[str, Json]) -> tuple[str, ...]:
    return tuple(axis_text(value) for value in point.values())
