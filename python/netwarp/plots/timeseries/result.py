"""All figures of a result directory."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from netwarp.plots.formats import FORMATS
from netwarp.plots.labels import slug
from netwarp.plots.timeseries.comparison import RunSet, run_sets
from netwarp.plots.timeseries.curves import RunCurves
from netwarp.plots.timeseries.figure_spec import FigureSpec, Quantity
from netwarp.plots.timeseries.figure_specs import shares_of, spec_of
from netwarp.plots.timeseries.worker import Helpers, Task
from netwarp.store.errors import store_errors
from netwarp.store.files import make_folder
from netwarp.store.result import ResultDir, open_result
from netwarp.store.rundir import RunDir

_MAX_PROCESSES = 8


def draw_result(result_dir: Path, formats: tuple[str, ...] = FORMATS, out: Path | None = None) -> list[Path]:
    """Figures of cwnd, RTT, queue length and goodput over time; see `netwarp.plots.plot_result`."""
    return draw_comparisons(open_result(result_dir), formats, out)


def draw_comparisons(
    result: ResultDir,
    formats: tuple[str, ...] = FORMATS,
    out: Path | None = None,
    curves_of: Callable[[RunDir], RunCurves] | None = None,
    *,
    alone: bool = True,
) -> list[Path]:
    """A figure over time for each quantity and each comparison, all runs in one and, if `alone`, a panel for each.

    What a figure compares is decided by `comparisons`; `curves_of` reads the quantities of a run, as a rule all that
    its records have, and then all flows of a run are drawn beside each other as well. Returns the files. Raises
    StoreError.
    """
    folder = out or make_folder(result.plots)
    with store_errors(folder, "create"):
        folder.mkdir(exist_ok=True, parents=True)
    with Helpers(_helpers(result)) as helpers:
        tasks: list[Task] = []
        for run_set in run_sets(result, curves_of):
            for stem, spec in _figure_specs(result, run_set):
                tasks.append(Task(spec, folder / stem, False, formats))
                if alone and len(spec.shown_alone) > 1:
                    tasks.append(Task(spec, folder / f"{stem}-each", True, formats))
            if curves_of is None and (shares := shares_of(result, run_set)) is not None:
                tasks.append(Task(shares, folder / _stem(shares.quantity, run_set), True, formats))
        return sorted(helpers.draw(tasks))


def _helpers(result: ResultDir) -> int:
    """How many processes help: one less than there are CPUs, none where there is little to draw."""
    return min(len(os.sched_getaffinity(0)), _MAX_PROCESSES, len(result.planned)) - 1


def _figure_specs(result: ResultDir, run_set: RunSet) -> Iterator[tuple[str, FigureSpec]]:
    for quantity in dict.fromkeys(quantity for run in run_set.runs for quantity in run.curves):
        yield _stem(quantity, run_set), spec_of(result, run_set, quantity)


def _stem(quantity: Quantity, run_set: RunSet) -> str:
    return "--".join(part for part in (slug(quantity.stem), run_set.stem) if part)
