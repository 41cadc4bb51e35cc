"""All figures of a result directory."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from netwarp.plots.formats import FORMATS
from netwarp.plots.helpers import helpers, helpers_for_runs
from netwarp.plots.labels import is_ordered
from netwarp.plots.legibility import fits_one_panel
from netwarp.plots.look import current
from netwarp.plots.timeseries.comparison import comparisons
from netwarp.plots.timeseries.curves import RunCurves
from netwarp.plots.timeseries.figure_spec import FigureSpec, Stack
from netwarp.plots.timeseries.figure_specs import spec_of
from netwarp.plots.timeseries.kinds import KINDS
from netwarp.plots.timeseries.kinds.base import Kind
from netwarp.plots.timeseries.run_set import RunSet
from netwarp.plots.timeseries.tasks import Task
from netwarp.store.errors import store_errors
from netwarp.store.files import make_folder
from netwarp.store.result import ResultDir, open_result
from netwarp.store.rundir import RunDir


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
    """Draw a figure over time for each quantity and comparison, with all runs in one and, if `alone`, a panel for each.

    `comparisons` decides what a figure compares. `curves_of` reads the quantities of a run; by default these are all
    that its records have, and figures with several quantities are drawn too. Returns the files. Raises StoreError.
    """
    asked = current()
    folder = asked.out or out or make_folder(result.plots)
    with store_errors(folder, "create"):
        folder.mkdir(exist_ok=True, parents=True)
    with helpers() as at_hand:
        at_hand.start(helpers_for(result))
        figures = figures_of(result, curves_of, alone=alone)
        tasks = [Task(one.spec, folder / one.stem, one.alone, formats) for one in figures if asked.draws(one.stem)]
        return sorted(at_hand.draw(tasks))


@dataclass(frozen=True)
class Figure:
    """A figure over time: the stem of its file, its content, whether its panels are separate, and its runs."""

    stem: str
    spec: FigureSpec | Stack
    alone: bool
    run_set: RunSet


def figures_of(
    result: ResultDir, curves_of: Callable[[RunDir], RunCurves] | None = None, *, alone: bool = True
) -> Iterator[Figure]:
    """All figures over time of a result; if names are requested, only those of comparisons that may have them."""
    asked = current().figures
    for comparison in comparisons(result, curves_of):
        if asked and not any(may_name(name, comparison.stem) for name in asked):
            continue
        yield from figures_of_set(result, comparison.read(), alone=alone, states=curves_of is None)
        if current().brief and not asked:
            return


def figures_of_set(result: ResultDir, run_set: RunSet, *, alone: bool = True, states: bool = True) -> Iterator[Figure]:
    """The figures of one comparison: each quantity, and by default those with several quantities."""
    for quantity in dict.fromkeys(quantity for run in run_set.runs for quantity in run.curves):
        spec, stem = spec_of(result, run_set, quantity), run_set.stem_of(quantity.stem)
        several = len(spec.shown_alone) > 1
        if not several or fits_one_panel(len(spec.variants), is_ordered([v.label for v in spec.variants])):
            yield Figure(stem, spec, False, run_set)
        if several and (alone or not fits_one_panel(len(spec.variants), False)):
            yield Figure(f"{stem}-each", spec, True, run_set)
    if states:
        yield from (figure for kind in KINDS for figure in kind_figures(kind, result, run_set))


def kind_figures(kind: Kind, result: ResultDir, run_set: RunSet) -> Iterator[Figure]:
    """The figures that a kind makes itself, other than of a quantity alone."""
    return (Figure(stem, spec, alone, run_set) for stem, spec, alone in kind.figures(result, run_set))


def may_name(pattern: str, stem: str) -> bool:
    """Whether a name or pattern of a figure may belong to the comparison that is called `stem`."""
    _, marked, of = pattern.partition("--")
    # A star may also match the part after the dashes.
    return not marked or fnmatchcase(stem, f"{of.removesuffix('-each').partition('--')[0]}")


def helpers_for(result: ResultDir) -> int:
    """The number of processes that help with a result."""
    return helpers_for_runs(len(result.planned))
