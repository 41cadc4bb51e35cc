"""A kind of figure over time: its curves, figures, panel of the page, and script."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import polars as pl

from netwarp.analysis.flow.flows import FlowData
from netwarp.analysis.run import series
from netwarp.analysis.tuples import flow_of_tuples
from netwarp.plots.colours import looks
from netwarp.plots.labels import slug
from netwarp.plots.timeseries.figure_spec import Curve, FigureSpec, Quantity, Stack
from netwarp.plots.timeseries.run_set import RunSet
from netwarp.stats.weighting import Window
from netwarp.store.result import ResultDir
from netwarp.store.rundir import RunDir


@dataclass(frozen=True)
class Source:
    """The source of curves: a run, those of its flows (`everyone`) that are shown, and the queues to show.

    Of a long run all rows are read if they are wanted `whole`, else those of the part that is shown `closely` and the
    extremes of the rest.
    """

    run: RunDir
    flows: Sequence[FlowData]
    everyone: Sequence[FlowData]
    queues: Collection[str] = ()
    whole: bool = False
    closely: Window | None = None

    @property
    def window(self) -> Window:
        """The whole run."""
        return series.whole_run(self.run)

    @cached_property
    def interval_ns(self) -> int:
        """The length of the intervals in which bytes are counted."""
        return series.interval_ns(self.run, self.flows)


@dataclass(frozen=True)
class Measure:
    """A panel of the page: its key, title, how its samples were taken, the unit, whether a sample holds until the
    next."""

    key: str
    title: str
    how: str
    unit: str
    steps: bool


@dataclass(frozen=True)
class Call:
    """A script's call for one curve: its panel, label and look, the reader, and the reader's arguments."""

    panel: int
    label: str
    colour: str
    dash: str
    reader: str
    given: Sequence[object]

    @property
    def text(self) -> str:
        """The curve as an entry of CURVES."""
        arguments = ", ".join(repr(one) for one in self.given)
        return f"    ({self.panel}, {self.label!r}, {self.colour!r}, {self.dash!r}, {self.reader}({arguments})),"


@dataclass(frozen=True)
class Records:
    """One run to read curves from."""

    run: RunDir
    label: str
    flows: Sequence[FlowData]
    look: tuple[str, str]
    queue: str = ""
    """The queue that the figure shows, as it is in the names of files."""

    @cached_property
    def _flow_of(self) -> Mapping[int, int]:
        return flow_of_tuples(self.run.scan("tuples").collect(), self.run.description.flows)

    def ids(self, data: FlowData) -> list[int]:
        """The five-tuples that carry the flow's data."""
        return [number for number, flow_id in self._flow_of.items() if flow_id == data.flow.id]

    def of(self, group: str) -> Sequence[FlowData]:
        """The flows of one name, as it is in the names of files."""
        return [data for data in self.flows if slug(data.flow.group) == group]

    @property
    def name(self) -> str:
        """The run's id."""
        return self.run.path.name


class Script(NamedTuple):
    """The content of a script: the curves, the labels of the panels, and the panels that show steps."""

    calls: list[Call]
    labels: list[str]
    steps: list[int]


Frames = Iterator[tuple[Quantity, pl.DataFrame]]
Named = Iterator[tuple[Quantity, Mapping[str, Curve]]]
Panels = Iterator[tuple[Measure, str, pl.DataFrame]]
Made = Iterator[tuple[str, FigureSpec | Stack, bool]]
Read = Iterator[tuple[str, Sequence[object]]]


@dataclass(frozen=True)
class Kind:
    """A kind of figure over time, whose names begin with `prefix` and are written as `names` in docs/figures.md.

    `shows` and `source` say there what it shows, and from which tables. Of each quantity that `frames` reads there is a
    figure that compares runs. `named` reads what shows several things of a run beside each other, and `figures` makes
    figures of what has been read: their names, what they show, whether each run has a panel. `panels` are those of the
    page, with the flow that each frame is of. `script` has what a script draws, by the rest of the figure's name;
    `readers` are the texts of the functions with which it reads. `in_report`: the page shows the first one.
    """

    prefix: str
    names: str
    shows: str
    source: str
    frames: Callable[[Source], Frames] = lambda _: iter(())
    named: Callable[[Source], Named] = lambda _: iter(())
    figures: Callable[[ResultDir, RunSet], Made] = lambda *_: iter(())
    panels: Callable[[Source], Panels] = lambda _: iter(())
    script: Callable[[str, Sequence[Records]], Script] | None = None
    readers: Mapping[str, str] = field(default_factory=dict)
    in_report: bool = False

    def draws(self, stem: str) -> bool:
        """Whether a figure of this name is one of these."""
        return stem.startswith(self.prefix)


def single(
    read: Callable[[Records, str], Read], label: str, *, steps: bool
) -> Callable[[str, Sequence[Records]], Script]:
    """The script of a figure with one panel and the curves of all runs in it."""

    def script(about: str, runs: Sequence[Records]) -> Script:
        calls = [Call(0, one.label, *one.look, *found) for one in runs for found in read(one, about)]
        return Script(calls, [label], [0] if steps else [])

    return script


def panel_each(
    read: Callable[[Records, str], Iterator[tuple[str, str, Sequence[object]]]],
) -> Callable[[str, Sequence[Records]], Script]:
    """The script of a figure with a panel for each run, and a curve for each thing that it shows."""

    def script(about: str, runs: Sequence[Records]) -> Script:
        calls: list[Call] = []
        for at, one in enumerate(runs):
            found = list(read(one, about))
            colours = looks([label for label, *_ in found])
            calls += [Call(at, label, *colours[n], reader, given) for n, (label, reader, given) in enumerate(found)]
        labels = [f"{one.label}\n(Mbit/s)" if len(runs) > 1 else "rate (Mbit/s)" for one in runs]
        return Script(calls, labels, [])

    return script


def spoken(interval_ns: int) -> str:
    """The length of an interval in words."""
    if interval_ns == 10**9:
        return "second"
    return f"{interval_ns / 1e9:g} s" if interval_ns > 10**9 else f"{interval_ns / 1e6:g} ms"


def curve_of(frame: pl.DataFrame) -> Curve:
    """The first two columns of a frame, times in s and values, as a curve."""
    times, values, *_ = frame.get_columns()
    return Curve(times.to_numpy(), values.to_numpy())
