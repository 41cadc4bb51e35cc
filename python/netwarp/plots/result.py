"""All figures of a result directory."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from netwarp.analysis.table import busiest_queue
from netwarp.plots import style
from netwarp.plots.curves import GOODPUT, duration_s, run_curves
from netwarp.plots.formats import FORMATS
from netwarp.plots.labels import is_ordered, natural_key, slug
from netwarp.plots.scene import Bar, Curve, Quantity, Scene, Variant
from netwarp.plots.worker import Helpers, Task
from netwarp.store.errors import speaking
from netwarp.store.result import ResultDir, open_result
from netwarp.store.rundir import RunDir
from netwarp.store.summary import CASE, PlannedRun, axis_text, axis_title

_SEED = "seed"
_MOST_PROCESSES = 8
_MOST_SHARES = 24


@dataclass(frozen=True)
class Shown:
    """A run to draw: its value on the axis that figures compare, where it stands on the others, and its curves."""

    value: Any
    rest: Mapping[str, Any]
    suspect: bool
    seed: int
    duration_s: float
    curves: Mapping[Quantity, Sequence[Curve]]
    phases: Mapping[str, Sequence[Bar]]
    changes: tuple[tuple[float, str], ...]

    def phases_with(self, quantity: Quantity) -> Sequence[Bar]:
        """The phases to draw beneath a quantity: of its own flows, or where it has none, of the first there are."""
        return self.phases.get(quantity.group, ()) if quantity.group else next(iter(self.phases.values()), ())


def draw_result(result_dir: Path, formats: tuple[str, ...] = FORMATS, out: Path | None = None) -> list[Path]:
    """Figures of cwnd, RTT, queue length and goodput over time; see `netwarp.plots.plot_result`.

    A figure compares the values of the sweep's first axis (without axes: cases, or seeds), one figure for each
    combination of the others; of several seeds it shows the first.
    """
    result = open_result(result_dir)
    place = out or result.plots
    with speaking(place, "create"):
        place.mkdir(exist_ok=True, parents=True)
    with Helpers(_helpers(result)) as helpers:
        tasks = []
        for stem, scene in _scenes(result):
            tasks.append(Task(scene, place / stem, False, formats))
            if len(scene.variants) > 1:
                tasks.append(Task(scene, place / f"{stem}-each", True, formats))
        tasks += [Task(scene, place / stem, False, formats) for stem, scene in _shares(result)]
        return sorted(helpers.draw(tasks))


def _helpers(result: ResultDir) -> int:
    """How many processes help: one less than there are CPUs, none where there is little to draw."""
    return min(len(os.sched_getaffinity(0)), _MOST_PROCESSES, len(result.planned)) - 1


def _scenes(result: ResultDir) -> Iterator[tuple[str, Scene]]:
    axis = _compared(result)
    shown = _load(result, axis)
    for rest, members in groupby(sorted(shown, key=_rest_key), key=_rest_key):
        runs = sorted(members, key=lambda run: natural_key(run.value))
        quantities = dict.fromkeys(quantity for run in runs for quantity in run.curves)
        for quantity in quantities:
            having = [run for run in runs if quantity in run.curves]
            stem = slug(quantity.stem) + ("--" + slug("-".join(rest)) if rest else "")
            yield stem, _scene(result, axis, quantity, having)


def _shares(result: ResultDir) -> Iterator[tuple[str, Scene]]:
    """For each run of flows of several names, all of them in one figure: who gets how much of the link."""
    axis = _compared(result)
    for run in _load(result, axis)[:_MOST_SHARES]:
        curves = {q.group: (q, c) for q, c in run.curves.items() if q.stem.startswith(GOODPUT)}
        if len(curves) < 2:
            continue
        first = next(iter(curves.values()))[0]
        quantity = Quantity(f"{GOODPUT}all-flows", "Goodput of each flow", first.how, first.axis, first.steps)
        looks = zip(curves, style.colours(len(curves), False), style.dashes(len(curves), False), strict=True)
        variants = [Variant(group, colour, dash, curves[group][1]) for group, colour, dash in looks]
        point = [axis_text(value) for value in (run.value, *run.rest.values()) if value is not None]
        subtitle = " · ".join((_subtitle(result, axis, [run]), quantity.how))
        stem = slug(quantity.stem) + "--" + slug("-".join(point))
        yield stem, Scene(quantity, subtitle, "flow", run.duration_s, variants, run.changes)


def _compared(result: ResultDir) -> str:
    """The axis whose values a figure compares: the first swept one, else the cases, else the seeds."""
    return next((axis for axis in result.axes if axis != CASE), CASE if result.axes else _SEED)


def _scene(result: ResultDir, axis: str, quantity: Quantity, runs: Sequence[Shown]) -> Scene:
    values = [run.value for run in runs]
    ordered = is_ordered(values)
    looks = zip(runs, style.colours(len(runs), ordered), style.dashes(len(runs), ordered), strict=True)
    variants = [
        Variant(
            axis_text(run.value) + (" (suspect)" if run.suspect else ""),
            colour,
            dash,
            run.curves[quantity],
            run.phases_with(quantity),
        )
        for run, colour, dash in looks
    ]
    each = "a line for each flow" if any(len(variant.curves) > 1 for variant in variants) else ""
    return Scene(
        quantity=quantity,
        subtitle=" · ".join(part for part in (_subtitle(result, axis, runs), quantity.how, each) if part),
        legend_title=axis_title(axis),
        duration_s=max(run.duration_s for run in runs),
        variants=variants,
        changes=runs[0].changes if len({run.changes for run in runs}) == 1 else (),
    )


def _subtitle(result: ResultDir, axis: str, runs: Sequence[Shown]) -> str:
    seeds = len({run.seed for run in result.planned})
    parts = [str(result.plan.get("name", ""))]
    parts += [f"{axis_title(path)} {axis_text(value)}" for path, value in runs[0].rest.items()]
    if len(runs) == 1 and axis != _SEED:
        parts.append(f"{axis_title(axis)} {axis_text(runs[0].value)}")
    if axis != _SEED:
        parts.append(f"seed {runs[0].seed}" + (f" of {seeds}" if seeds > 1 else ""))
    return " · ".join(part for part in parts if part)


def _load(result: ResultDir, axis: str) -> list[Shown]:
    queue = _queue(result, axis)
    return [_shown(result.run(run.id), run, axis, queue) for run in _first_seeds(result, axis)]


def _shown(directory: RunDir, run: PlannedRun, axis: str, queue: str | None) -> Shown:
    found = run_curves(directory, queue)
    return Shown(
        value=run.seed if axis == _SEED else run.point.get(axis),
        rest={path: value for path, value in run.point.items() if path != axis},
        suspect=directory.status().get("status") == "suspect",
        seed=run.seed,
        duration_s=duration_s(directory),
        curves=found.curves,
        phases=found.phases,
        changes=tuple(
            (change.at_ns / 1e9, f"{change.at_ns / 1e9:g} s {change.what}") for change in directory.description.changes
        ),
    )


def _first_seeds(result: ResultDir, axis: str) -> Iterator[PlannedRun]:
    """Of the runs that did not fail, the one with the lowest seed at each point (each seed, if seeds are compared)."""
    seen = set()
    for run in sorted(result.planned, key=lambda run: run.seed):
        if not result.is_complete(run.id) or result.run(run.id).status().get("status") == "failed":
            continue
        point = tuple(axis_text(value) for value in run.point.values()) + ((run.seed,) if axis == _SEED else ())
        if point not in seen:
            seen.add(point)
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


def _rest_key(run: Shown) -> tuple[str, ...]:
    return tuple(axis_text(value) for value in run.rest.values())
