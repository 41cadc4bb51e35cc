"""Which runs a figure shows side by side, and with what it compares them."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

from netwarp.analysis.summary.main_metrics import busiest_queue
from netwarp.analysis.summary.selection import SEED
from netwarp.plots import look
from netwarp.plots.colours import QUEUE_DISCIPLINES
from netwarp.plots.labels import is_ordered, natural_key, short_case, shortened_alike, slug
from netwarp.plots.legibility import MAX_ORDERED, MAX_PANELS, fits_one_panel
from netwarp.plots.timeseries.curves import RunCurves, duration_s, run_curves, schedules
from netwarp.plots.timeseries.figure_spec import Band, Bar, Curve, Quantity, Schedule
from netwarp.store.result import ResultDir
from netwarp.store.rundir import RunDir
from netwarp.store.summary import CASE, PlannedRun, axis_text, axis_title
from netwarp.threads import on_each

TUNER, DEFAULT_TUNER, KERNEL = "run.tuner", "default", "kernel"
MAX_SEEDS = 8
"""Of more than this nobody could tell the lines apart."""


@dataclass(frozen=True)
class PlottedRun:
    """A run to draw: its id, where it stands on the axes, and its curves."""

    id: str
    point: Mapping[str, Any]
    suspect: bool
    seed: int
    duration_s: float
    curves: Mapping[Quantity, Sequence[Curve]]
    phases: Mapping[str, Sequence[Bar]]
    changes: tuple[tuple[float, str], ...]
    schedules: tuple[Schedule, ...]
    bands: Mapping[Quantity, Sequence[Band]] = field(default_factory=dict)
    named: Mapping[Quantity, Mapping[str, Curve]] = field(default_factory=dict)

    def phases_with(self, quantity: Quantity) -> Sequence[Bar]:
        """The phases to draw beneath a quantity: of its own flows, or where it has none, of the first there are."""
        return self.phases.get(quantity.group, ()) if quantity.group else next(iter(self.phases.values()), ())


@dataclass(frozen=True)
class RunSet:
    """Runs that differ in one thing (`differs`), labelled by its values, and stand alike on all else (`rest`).

    `references` are the runs that they are compared with, with their labels: one for all, or one for each run, or none.
    `stem` tells its files from those of other comparisons; empty if there are no others. `together`: they repeat one
    thing and are shown as one. `of`: how many there are, of which some may not be shown.
    """

    differs: str
    labels: Sequence[str]
    runs: Sequence[PlottedRun]
    rest: Mapping[str, Any]
    stem: str
    references: Sequence[tuple[str, PlottedRun]] = ()
    together: bool = False
    of: int = 0

    @property
    def place(self) -> list[str]:
        """Where its runs stand on the axes in which they do not differ, in words."""
        return [axis_text(v) if path == CASE else f"{axis_title(path)} {axis_text(v)}" for path, v in self.rest.items()]

    def reference_of(self, run: PlottedRun) -> tuple[str, PlottedRun] | None:
        """What one of its runs is compared with, and how that is called."""
        if len(self.references) > 1:
            return next(found for one, found in zip(self.runs, self.references, strict=True) if one is run)
        return self.references[0] if self.references else None


def run_sets(result: ResultDir, curves_of: Callable[[RunDir], RunCurves] | None = None) -> Iterator[RunSet]:
    """What the figures of a result compare; `curves_of` reads what they show of a run, as a rule all quantities.

    They compare tuners with the default, or kernels, or the values of the sweep's first axis, for each combination
    of the others; without axes the cases, or the seeds. Of several seeds the first stands for all. Where the
    scenario names a baseline, cases that set the same are compared with each other and with it; and where something
    else is compared, each run with its like in it. Of more values than a reader could tell apart some are shown; of
    more seeds, what all of them have in common.
    """
    axis = compared_axis(result)
    runs = list(_wanted(result, _first_seeds(result, axis)))
    together = curves_of is None and axis == SEED and len(runs) > MAX_SEEDS
    queue = _queue(result, axis)
    read = curves_of or partial(run_curves, queue=queue, average=together)

    @cache
    def shown(number: int) -> PlottedRun:
        return _shown(result.run(runs[number].id), runs[number], read)

    if axis == CASE and result.baseline is not None and len(runs) > 1:
        yield from _against_baseline(result, on_each(shown, range(len(runs))))
        return
    places = {_place(run.point): number for number, run in enumerate(runs)}
    groups: dict[tuple[str, ...], list[int]] = {}
    for number, run in enumerate(runs):
        groups.setdefault(_rest(run, axis), []).append(number)
    for rest, group in _by_discipline(result, runs, groups, axis, queue):
        default, alike = _behind(runs, group) if axis == TUNER else ([], group)
        ordered = is_ordered([_value(runs[number], axis) for number in alike])
        if ordered:  # else as the scenario has them
            alike.sort(key=lambda number: natural_key(_value(runs[number], axis)))
        kept = alike if together or curves_of else some(alike, ordered)
        place = {path: value for path, value in runs[alike[0]].point.items() if path != axis}
        if len(rest) > len(place):
            place["queue"] = rest[-1]
        references: list[tuple[str, PlottedRun]] = []
        if default:
            references = [(DEFAULT_TUNER, shown(default[0]))]
        elif result.baseline is not None and place.get(CASE, result.baseline) != result.baseline:
            found = [places.get(_place({**runs[number].point, CASE: result.baseline})) for number in kept]
            references = [(result.baseline, shown(number)) for number in found if number is not None]
        yield RunSet(
            differs=axis_title(axis),
            labels=_labels([axis_text(_value(runs[number], axis)) for number in kept], axis),
            runs=on_each(shown, kept),
            rest=place,
            stem=slug("-".join(rest)) if rest else "",
            references=references if default or len(references) == len(kept) else (),
            together=together,
            of=len(alike),
        )


def _behind(runs: Sequence[PlannedRun], group: Sequence[int]) -> tuple[list[int], list[int]]:
    """Of the runs that differ by their tuner the one without, which is drawn behind the others, and these."""
    default = [number for number in group if runs[number].point.get(TUNER) == DEFAULT_TUNER]
    others = [number for number in group if number not in default]
    return (default, others) if others else ([], default)


def some(alike: Sequence[int], ordered: bool, most: int | None = None) -> Sequence[int]:
    """As many as can be shown: of values with an order from the lowest to the highest, else the first."""
    most, last = most or (MAX_ORDERED if ordered else MAX_PANELS), len(alike) - 1
    if len(alike) <= most:
        return alike
    return [alike[round(n * last / (most - 1)) if ordered else n] for n in range(most)]


def _labels(texts: Sequence[str], axis: str) -> list[str]:
    return shortened_alike([short_case(text) for text in texts] if axis == CASE else texts)


def _by_discipline(
    result: ResultDir,
    runs: Sequence[PlannedRun],
    groups: Mapping[tuple[str, ...], list[int]],
    axis: str,
    queue: str | None,
) -> Iterator[tuple[tuple[str, ...], list[int]]]:
    """The groups; of more cases than can be told apart a group for each discipline of the queue under test."""
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
    """The first word of a queue, such as `red`; "other" where it is not known.

    Of a chain of tc commands it is the discipline that the case is named after.
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


def compared_axis(result: ResultDir) -> str:
    """The axis whose values a figure compares: tuners, kernels, else the first swept one, else the cases, or seeds."""
    if chosen := [axis for axis in (TUNER, KERNEL) if axis in result.axes]:
        return chosen[0]
    return next((axis for axis in result.axes if axis != CASE), CASE if result.axes else SEED)


def _against_baseline(result: ResultDir, shown: Sequence[PlottedRun]) -> Iterator[RunSet]:
    """The cases that set the same paths, and the baseline; cases that set several things bear their own names."""
    cases = {run.point[CASE]: run for run in shown}
    baseline = cases.pop(result.baseline, None)
    paths: dict[tuple[str, ...], list[str]] = {}
    for name in cases:
        paths.setdefault(tuple(result.settings_of(name)), []).append(name)
    for varied, names in paths.items():
        differs, labels = axis_title(CASE), dict(zip(names, names, strict=True))
        behind = str(result.baseline)
        if len(varied) == 1:
            differs = axis_title(varied[0])
            labels = {name: axis_text(result.settings_of(name)[varied[0]]) for name in names}
            usual = result.usual_value(varied[0])
            behind = behind if usual is None else f"{axis_text(usual)} ({behind})"
        if is_ordered(list(labels.values())):
            names.sort(key=lambda name: natural_key(labels[name]))
        references = [] if baseline is None else [(behind, baseline)]
        runs = [cases[name] for name in names]
        yield RunSet(differs, [labels[name] for name in names], runs, {}, slug("-".join(varied)), references)


def _shown(directory: RunDir, run: PlannedRun, curves_of: Callable[[RunDir], RunCurves]) -> PlottedRun:
    found = curves_of(directory)
    steps = tuple(schedules(directory.description))
    changes = [(c.at_ns / 1e9, c.besides_the_rate if steps else c.what) for c in directory.description.changes]
    return PlottedRun(
        id=run.id,
        point=run.point,
        suspect=directory.status().get("status") == "suspect",
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
    """Of the runs that did not fail, the one with the lowest seed at each point (each seed, if seeds are compared)."""
    seen = set()
    for run in sorted(result.planned, key=lambda run: run.seed):
        if not result.is_complete(run.id) or result.run(run.id).status().get("status") == "failed":
            continue
        point = (*_place(run.point), *((run.seed,) if axis == SEED else ()))
        if point not in seen:
            seen.add(point)
            yield run


def _wanted(result: ResultDir, runs: Iterator[PlannedRun]) -> Iterator[PlannedRun]:
    """Of what `--only` names, the runs that have one of its values; all if it names no value."""
    values = {axis_text(value) for run in result.planned for value in run.point.values()}
    named = [name for name in look.current().only if name in values]
    for run in runs:
        if not named or any(axis_text(value) in named for value in run.point.values()):
            yield run


def _queue(result: ResultDir, axis: str) -> str | None:
    """The queue to draw: of the link that the axis is about, if it is about one, the busiest; else of all."""
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


def _place(point: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(axis_text(value) for value in point.values())
