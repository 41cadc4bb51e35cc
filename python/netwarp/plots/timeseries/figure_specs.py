"""Makes the specs of figures from comparisons: variants with their looks, panels, and the words above them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from netwarp.analysis.summary.selection import SEED
from netwarp.plots import look
from netwarp.plots.colours import CATEGORICAL, REFERENCE, Look, looks, pale
from netwarp.plots.labels import is_ordered
from netwarp.plots.legibility import MAX_PANELS
from netwarp.plots.timeseries.figure_spec import Curve, FigureSpec, Panel, Quantity, Variant
from netwarp.plots.timeseries.run_set import PlottedRun, RunSet
from netwarp.plots.timeseries.spread import across, span_s, together
from netwarp.plots.values import groups_of
from netwarp.store.result import ResultDir

GOODPUT = "throughput-"
"""The prefix of the names of goodput figures."""
_MOST_OF = 0.75
"""A figure ends with its flows if they end before this part of the run."""


def spec_of(result: ResultDir, run_set: RunSet, quantity: Quantity) -> FigureSpec:
    """The figure of one quantity in all runs that have it, in front of their common reference if there is one.

    Repetitions that are shown together are one line with its bands.
    """
    drawn = run_set.looks or looks(run_set.labels, is_ordered(run_set.labels))
    having = [
        (label, run, look)
        for (label, run), look in zip(_labelled(run_set), drawn, strict=True)
        if quantity in run.curves
    ]
    runs = [run for _, run, _ in having]
    if run_set.together:
        sound = _sound(runs)
        variants = [_spread("median", CATEGORICAL[0], "-", [run.curves[quantity] for run in sound])]
        several = "means of its flows" if any(len(run.curves[quantity]) > 1 for run in sound) else ""
        words = subtitle(result, run_set, sound, quantity.how, several, _averaging(quantity, sound))
        # A mean is not a state that holds until the next sample.
        spec = _spec(sound, replace(quantity, steps=False), words, _runs(sound), variants)
        return replace(spec, left_out=left_out(result, run_set, sound))
    # A reference for each run would double the lines; the panels of all flows have those.
    shared = run_set.references if len(run_set.references) == 1 else ()
    variants = [_reference(label, run.curves[quantity]) for label, run in shared if quantity in run.curves]
    variants += [
        Variant(label, colour, dash, run.curves[quantity], run.phases_with(quantity), bands=run.bands.get(quantity, ()))
        for label, run, (colour, dash) in having
    ]
    words = subtitle(result, run_set, runs, quantity.how, _crowds(variants))
    return replace(
        _spec(runs, quantity, words, run_set.differs, variants),
        left_out=left_out(result, run_set, runs, _without(run_set, runs)),
    )


def _without(run_set: RunSet, runs: Sequence[PlottedRun]) -> str:
    """Name the compared values that have no curve in a figure of these runs, and the only one that has."""
    drawn = {id(run) for run in runs}
    pairs = list(zip(run_set.labels, run_set.runs, strict=True))
    without = [label for label, run in pairs if id(run) not in drawn]
    having = [label for label, run in pairs if id(run) in drawn]
    if not without or not having:
        return ""
    alone = f"{having[0]} alone; " if len(having) == 1 else ""
    return f"{alone}nothing recorded of it: {', '.join(without)}"


def _panelled(having: Sequence[object]) -> str:
    """State that a figure has too many panels and shows only the first."""
    return f"the first {MAX_PANELS} of {len(having)} runs" if len(having) > MAX_PANELS else ""


def _groups(result: ResultDir, runs: Sequence[PlottedRun]) -> list[str]:
    """The names of all flows that deliver data, in these runs or in others, so that each keeps its colour."""
    return list(dict.fromkeys([*groups_of(result), *(q.group for run in runs for q in _goodputs(run))]))


def shares_of(result: ResultDir, run_set: RunSet) -> FigureSpec | None:
    """The figure of all flows' goodputs, a panel for each run, in front of those of its reference.

    Repetitions that are shown together have one panel. None if no run has flows of two names.
    """
    having = [(label, run) for label, run in _labelled(run_set) if len(_goodputs(run)) > 1]
    if not having:
        return None
    runs = _sound([run for _, run in having]) if run_set.together else [run for _, run in having[:MAX_PANELS]]
    groups = list(dict.fromkeys(quantity.group for run in runs for quantity in _goodputs(run)))
    every = _groups(result, [*runs, *(run for _, run in run_set.references)])
    drawn = dict(zip(every, looks(every), strict=True))
    bands = ""
    if run_set.together:
        lines = [_spread(g, *drawn[g], [found for run in runs if (found := _goodput_of(run, g))]) for g in groups]
        panels = [Panel("", lines)]
        bands = f"medians of {_runs(runs)}, bands: {' and '.join(band.label for band in lines[0].bands)}"
    else:
        several = len(run_set.runs) > 1
        panels = [
            Panel(label if several else "", _lines(run, drawn, run_set.reference_of(run)))
            for label, run in having[:MAX_PANELS]
        ]
    quantity = next(iter(_goodputs(runs[0])))
    assert quantity.secondary_axis is not None
    title = "Goodput of each flow"
    secondary_axis = replace(quantity.secondary_axis, title="Goodput and transfer of each flow")
    named = {line.label: line for panel in panels for line in panel.variants}
    spec = _spec(
        runs,
        replace(quantity, stem=f"{GOODPUT}all-flows", title=title, how="", group="", secondary_axis=secondary_axis),
        subtitle(result, run_set, runs, quantity.how.replace("acknowledged", "delivered"), bands),
        run_set.differs if len(panels) > 1 else "",
        sorted(named.values(), key=lambda line: line.reference),
    )
    more = "" if run_set.together else _panelled(having)
    return replace(spec, panels=panels, linear=True, left_out=left_out(result, run_set, runs, more))


def lines_of(
    result: ResultDir,
    run_set: RunSet,
    quantity: Quantity,
    heading: Callable[[Mapping[str, Curve]], str] = lambda _: "",
) -> FigureSpec:
    """Several things of each run beside each other, a panel for each run, what they have in common in one colour.

    `heading` adds to that of a panel.
    """
    all_having = [(label, run) for label, run in _labelled(run_set) if quantity in run.named]
    having = all_having[:MAX_PANELS]
    runs = [run for _, run in having]
    names = list(dict.fromkeys(name for run in runs for name in run.named[quantity]))
    drawn = dict(zip(names, looks(names), strict=True))
    several = len(run_set.runs) > 1
    panels = [
        Panel(
            " · ".join(part for part in (label if several else "", heading(run.named[quantity])) if part),
            [Variant(name, *drawn[name], [curve]) for name, curve in run.named[quantity].items()],
        )
        for label, run in having
    ]
    words = subtitle(result, run_set, runs, quantity.how)
    every = [Variant(name, *drawn[name], []) for name in names]
    spec = _spec(runs, quantity, words, run_set.differs if several else "", every)
    shown = [variant for panel in panels for variant in panel.variants]
    limits = look.current().xlim or _life(quantity, shown, spec.duration_s)
    return replace(spec, panels=panels, limits=limits, left_out=left_out(result, run_set, runs, _panelled(all_having)))


def _spec(
    runs: Sequence[PlottedRun], quantity: Quantity, subtitle: str, legend_title: str, variants: Sequence[Variant]
) -> FigureSpec:
    """The spec of the runs, with the changes and schedules that all of them have."""
    return FigureSpec(
        quantity=quantity,
        subtitle=subtitle,
        legend_title=legend_title,
        duration_s=max(run.duration_s for run in runs),
        limits=look.current().xlim or _life(quantity, variants, max(run.duration_s for run in runs)),
        log=look.current().ylog,
        variants=variants,
        changes=runs[0].changes if len({run.changes for run in runs}) == 1 else (),
        schedules=runs[0].schedules if len({run.schedules for run in runs}) == 1 else (),
    )


def _life(quantity: Quantity, variants: Sequence[Variant], duration_s: float) -> tuple[float, float] | None:
    """The time in which the figure's flows are active, if that is a part of the run; else None."""
    ends = [float(curve.times[-1]) for variant in variants for curve in variant.curves if len(curve.times)]
    starts = [float(curve.times[0]) for variant in variants for curve in variant.curves if len(curve.times)]
    first, last = min(starts, default=0.0), max(ends, default=duration_s)
    if not quantity.group or not 0 < last - first < _MOST_OF * duration_s:
        return None
    # It begins at 0 if that is near, and ends with the run if that is near.
    return (first if first > last / 3 else 0.0), min(last + 0.04 * (last - first), duration_s)


def _crowds(variants: Sequence[Variant]) -> str:
    """State how several flows are shown: as a median and bands, or as lines."""
    bands = next((variant.bands for variant in variants if variant.bands), ())
    if bands:
        return f"median of the flows, bands: {' and '.join(band.label for band in bands)}"
    return "a line for each flow" if any(len(variant.curves) > 1 for variant in variants) else ""


def _runs(runs: Sequence[PlottedRun]) -> str:
    """The number of runs in words, and whether they are suspect."""
    return f"{len(runs)} {'suspect ' if all(run.suspect for run in runs) else ''}{'run' if len(runs) == 1 else 'runs'}"


def _sound(runs: Sequence[PlottedRun]) -> Sequence[PlottedRun]:
    """The runs whose numbers count; all if none does."""
    return [run for run in runs if not run.suspect] or runs


def _averaging(quantity: Quantity, runs: Sequence[PlottedRun]) -> str:
    """The averaging of a run's values over spans, in words; empty if they are counted in intervals anyway."""
    return "" if quantity.interval_s else f"means of {1e3 * span_s(quantity, runs[0].duration_s):.3g} ms"


def _spread(label: str, colour: str, dash: str, runs: Sequence[Sequence[Curve]]) -> Variant:
    """The spread over runs with one value for each run, the mean of its flows, so that the bands are of runs."""
    median, bands = across([together(curves) for curves in runs])
    return Variant(label, colour, dash, [median], bands=bands)


def _lines(run: PlottedRun, drawn: Mapping[str, Look], behind: tuple[str, PlottedRun] | None) -> list[Variant]:
    """The goodputs of a run's flows, preceded by those of its reference, which is drawn behind.

    A single flow of the reference is grey; several have pale tints of their colours.
    """
    lines: list[Variant] = []
    if behind:
        before = _goodputs(behind[1])
        tints = {q.group: REFERENCE if len(before) == 1 else pale(drawn[q.group][0]) for q in before}
        lines = [
            replace(_reference(f"{q.group}, {behind[0]}", curves), colour=tints[q.group])
            for q, curves in before.items()
        ]
    return lines + [Variant(q.group, *drawn[q.group], curves) for q, curves in _goodputs(run).items()]


def _labelled(run_set: RunSet) -> Iterator[tuple[str, PlottedRun]]:
    for label, run in zip(run_set.labels, run_set.runs, strict=True):
        yield label + (" (suspect)" if run.suspect else ""), run


def _goodputs(run: PlottedRun) -> dict[Quantity, Sequence[Curve]]:
    return {quantity: curves for quantity, curves in run.curves.items() if quantity.stem.startswith(GOODPUT)}


def _goodput_of(run: PlottedRun, group: str) -> Sequence[Curve]:
    return next((curves for quantity, curves in _goodputs(run).items() if quantity.group == group), ())


def _reference(label: str, curves: Sequence[Curve]) -> Variant:
    return Variant(label, REFERENCE, "-", curves, reference=True)


def subtitle(result: ResultDir, run_set: RunSet, runs: Sequence[PlottedRun], *how: str) -> str:
    """The scenario, the values on which the runs agree, their seed, and how the quantity was measured."""
    seeds = len({run.seed for run in result.planned})
    parts = [str(result.plan.get("name", "")), *run_set.place]
    if len(run_set.runs) == 1 and run_set.differs != SEED:
        parts.append(f"{run_set.differs} {run_set.labels[0]}")
    if run_set.differs != SEED:
        parts.append(f"seed {runs[0].seed}" + (f" of {seeds}" if seeds > 1 else ""))
    return " · ".join(part for part in (*parts, *how) if part)


def left_out(result: ResultDir, run_set: RunSet, runs: Sequence[PlottedRun], *more: str) -> list[str]:
    """Parts of the result that a figure of these runs lacks: values of the compared axis, suspect and failed runs."""
    parts = []
    if len(run_set.runs) < run_set.of:
        parts.append(f"{len(run_set.runs)} of {run_set.of} values, the others: netwarp plot DIR --only VALUE")
    drawn = {id(run) for run in runs}
    suspect = sum(run.suspect and id(run) not in drawn for run in run_set.runs) if run_set.together else 0
    left = [f"{count} {word}" for count, word in ((suspect, "suspect"), (result.failed, "failed")) if count]
    many = "run" if suspect + result.failed == 1 else "runs"
    return [part for part in (*parts, *more, f"{' and '.join(left)} {many} left out" if left else "") if part]
