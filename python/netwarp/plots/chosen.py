"""The figures that a run draws: those that its scenario names, or those that best show the variation."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path

from netwarp.plots.charts.chart import Chart
from netwarp.plots.charts.metric import charts
from netwarp.plots.charts.overview import Wish, wishes
from netwarp.plots.formats import FORMATS
from netwarp.plots.helpers import helpers
from netwarp.plots.look import current, names
from netwarp.plots.timeseries.comparison import Comparison, comparisons
from netwarp.plots.timeseries.figure_spec import FigureSpec, Stack
from netwarp.plots.timeseries.kinds import KINDS
from netwarp.plots.timeseries.result import Figure, figures_of_set, helpers_for, may_name
from netwarp.plots.timeseries.tasks import Task
from netwarp.store.errors import SelectionError, store_errors
from netwarp.store.files import make_folder
from netwarp.store.result import ResultDir

MOST = 12
"""The most figures that are drawn if the scenario names none."""
_FEW = 5
_METRICS, _OF_OTHERS = 4, 2
"""The most figures of metrics among them, and the most over time for each axis but the first."""


@dataclass(frozen=True)
class Entry:
    """A figure of a result: the stem of its files, its title, and the command that draws it."""

    stem: str
    title: str
    command: str


@dataclass(frozen=True)
class Drawn:
    """Drawn figures: the files, an entry for each figure in reading order, the commands for figures that were not
    drawn, and sentences about requested figures that do not exist."""

    files: list[Path]
    entries: list[Entry]
    left: list[str]
    missing: list[str]


def draw_chosen(result: ResultDir, wished: Sequence[str | Wish], formats: Sequence[str] = FORMATS) -> Drawn:
    """Draw the requested figures, by name or pattern and by metric; without requests the most important ones.

    If none of the requested figures exists, as when a scenario's flows have been renamed, the most important ones are
    drawn. Runs that failed are left out. Raises StoreError.
    """
    asked = current()
    folder = asked.out or make_folder(result.plots)
    with store_errors(folder, "create"):
        folder.mkdir(exist_ok=True, parents=True)
    with helpers() as at_hand:
        # Starting a process takes as long as drawing some figures.
        at_hand.start(0 if 0 < len(wished) < _FEW else helpers_for(result))
        found = _Found(result)
        if not wished or not found.take(wished):
            found.take_most_telling()
        kinds = asked.formats or tuple(formats)
        tasks = [Task(spec, folder / stem, alone, kinds) for stem, spec, alone in found.tasks]
        files = sorted(at_hand.draw(tasks))
    return Drawn(files, found.entries, list(dict.fromkeys(found.left)), found.missing)


class _Found:
    """The collector of figures to draw; it reads only the records of comparisons that have requested figures."""

    def __init__(self, result: ResultDir) -> None:
        self._result = result
        self.tasks: list[tuple[str, FigureSpec | Stack | Chart, bool]] = []
        self.entries: list[Entry] = []
        self.left: list[str] = []
        self.missing: list[str] = []

    def take(self, wished: Sequence[str | Wish]) -> bool:
        """Take the requested figures in their order; return whether any exists."""
        patterns = [wish for wish in wished if isinstance(wish, str) and _over_time(wish)]
        figures: list[Figure] = []
        for comparison in comparisons(self._result) if patterns else ():
            if any(may_name(pattern, comparison.stem) for pattern in patterns):
                figures += figures_of_set(self._result, comparison.read())
            else:
                self.left.append(_command_for(comparison))
        for wish in wished:
            if isinstance(wish, Wish):
                if not self._metric(wish):
                    by = f" by {', '.join(wish.by)}" if wish.by else ""
                    self.missing.append(f"no run that counts has {wish.metric}{by}")
                continue
            some = [figure for figure in figures if fnmatchcase(figure.stem, wish)]
            some = some or [figure for figure in figures if names(wish, figure.stem)]
            for figure in some:
                self._figure(figure)
            if not some:
                self.missing.append(f"there is no figure {wish}")
        taken = {entry.stem for entry in self.entries}
        self.left += [f"netwarp plot DIR {figure.stem}" for figure in figures if figure.stem not in taken]
        # Other names may be figures of the scenario's views, which draw them themselves.
        return bool(self.tasks) or any(isinstance(wish, str) and not _over_time(wish) for wish in wished)

    def take_most_telling(self) -> None:
        """Take some figures of metrics, and some over time for each axis that varies, of its first comparison."""
        seen: dict[str, Comparison] = {}
        for comparison in comparisons(self._result):
            if comparison.axis in seen:
                self.left.append(_command_for(comparison))
            seen.setdefault(comparison.axis, comparison)
        first, *others = seen.values() if seen else (None,)
        for wish in wishes(self._result):
            if len(self.tasks) >= _METRICS or not self._metric(wish):
                self.left.append(wish.command)
        for comparison in [one for one in (first, *others) if one is not None]:
            rest = sum(1 for one in others) * _OF_OTHERS if comparison is first else 0
            most = max(MOST - len(self.tasks) - rest, _OF_OTHERS) if comparison is first else _OF_OTHERS
            ranked = sorted(figures_of_set(self._result, comparison.read()), key=_rank)
            for figure in ranked[:most] if len(self.tasks) < MOST else ():
                self._figure(figure)
            taken = {entry.stem for entry in self.entries}
            self.left += [f"netwarp plot DIR {figure.stem}" for figure in ranked if figure.stem not in taken]

    def _figure(self, figure: Figure) -> None:
        if all(figure.stem != entry.stem for entry in self.entries):
            title = figure.spec.title if isinstance(figure.spec, Stack) else figure.spec.quantity.title
            self.tasks.append((figure.stem, figure.spec, figure.alone))
            self.entries.append(Entry(figure.stem, title, f"netwarp plot DIR {figure.stem}"))

    def _metric(self, wish: Wish) -> bool:
        try:
            some = list(islice(charts(self._result, wish.metric, wish.by, wish.kind), MOST))
        except SelectionError:
            return False
        for stem, _, chart in some:
            self.tasks.append((stem, chart, False))
            self.entries.append(Entry(stem, chart.title, wish.command))
        return bool(some)


def _over_time(pattern: str) -> bool:
    """Whether a name may be a figure over time, rather than one that a scenario's view draws."""
    begin = re.split(r"[*?\[]", pattern)[0]
    return any(begin.startswith(kind.prefix) or kind.prefix.startswith(begin) for kind in KINDS)


def _command_for(comparison: Comparison) -> str:
    return f"netwarp plot DIR '*--{comparison.stem}*'" if comparison.stem else "netwarp plot DIR --all"


def _rank(figure: Figure) -> tuple[int, bool]:
    """The most telling kind first, of each all in one panel before a panel for each."""
    place = next((at for at, kind in enumerate(KINDS) if kind.draws(figure.stem)), len(KINDS))
    return (place, figure.alone)
