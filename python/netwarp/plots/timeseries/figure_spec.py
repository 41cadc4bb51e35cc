"""The content of a figure over time, ready to draw. Quick to import, so that a drawing process starts at once."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
Dash = str | tuple[float, tuple[float, ...]]
"""A line's dashes in matplotlib's form: a name, or an offset and lengths on and off."""


@dataclass(frozen=True)
class SecondaryAxis:
    """A second y axis: the title of a figure that has it, its label with unit, and the number of its units in one unit
    of the first axis."""

    title: str
    axis: str
    factor: float


@dataclass(frozen=True)
class Quantity:
    """The quantity of a figure: `stem` of its file name, title, how it was measured, label of the y axis with unit.

    `steps`: a state that holds until the next sample, drawn as steps. `group`: the TCP flows that it is about, if any.
    `secondary_axis`: for a rate in Mbit/s, the amount in each interval. `interval_s`: the length of the intervals in
    which it is counted; 0 for samples. `empties`: it falls to 0 now and then, as a queue does, so that low values do
    not call for a logarithmic axis.
    """

    stem: str
    title: str
    how: str
    axis: str
    steps: bool
    group: str = ""
    secondary_axis: SecondaryAxis | None = None
    interval_s: float = 0.0
    empties: bool = False


@dataclass(frozen=True)
class Curve:
    """One line: times in s and values, of equal length."""

    times: Values
    values: Values


@dataclass(frozen=True)
class Band:
    """The range of a part of many curves, named by `label`: times in s, lowest and highest values, of equal length."""

    label: str
    times: Values
    lows: Values
    highs: Values


@dataclass(frozen=True)
class Bar:
    """A piece of a strip below the panel: a phase (`kind` decides the colour) from `start_s` to `end_s`."""

    kind: str
    start_s: float
    end_s: float


@dataclass(frozen=True)
class Variant:
    """One value of the axis that the figure compares: its label, colour, dashes, and its curves (one for each flow).

    `phases` are the pieces of its strip. `reference`: the others are compared with it, and it is drawn behind them.
    `bands` are behind its curves, the wider ones first. `in_front` has for each curve the stretches of time in which it
    is in front of all others.
    """

    label: str
    colour: str
    dash: Dash
    curves: Sequence[Curve]
    phases: Sequence[Bar] = ()
    reference: bool = False
    bands: Sequence[Band] = ()
    in_front: Sequence[Sequence[tuple[float, float]]] = ()


@dataclass(frozen=True)
class Panel:
    """One of several panels: its heading, and the variants in it."""

    heading: str
    variants: Sequence[Variant]


@dataclass(frozen=True)
class Schedule:
    """The rate of a link that changes: (s, Mbit/s), each holding until the next."""

    label: str
    steps: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class FigureSpec:
    """The common part of all panels of a figure.

    `changes` are (seconds, words) of changes by the scenario, without words if `schedules` show them. `panels`: the
    content of each; default: one variant each. `linear`: never on a log axis, as for shares. `limits`: the shown part
    of the run, in seconds; default: all. `log`: always on a log axis. `left_out`: the parts of the result that it does
    not show, which are named even without a title.
    """

    quantity: Quantity
    subtitle: str
    legend_title: str
    duration_s: float
    variants: Sequence[Variant]
    changes: Sequence[tuple[float, str]] = ()
    schedules: Sequence[Schedule] = ()
    panels: Sequence[Panel] = ()
    linear: bool = False
    limits: tuple[float, float] | None = None
    log: bool = False
    left_out: Sequence[str] = ()

    @property
    def window(self) -> tuple[float, float]:
        """The time range of the figure, in seconds."""
        return self.limits or (0.0, self.duration_s)

    @property
    def limiting(self) -> Sequence[Schedule]:
        """The schedules beside curves of a rate: not those of links that are always faster than another."""
        if not self.quantity.secondary_axis or not self.schedules:
            return ()
        bound = min(max(rate for _, rate in one.steps) for one in self.schedules)
        return [one for one in self.schedules if min(rate for _, rate in one.steps) <= bound]

    @property
    def shown_alone(self) -> Sequence[Panel]:
        """The panels of a figure with several: each variant in its own panel, in front of the references."""
        if self.panels:
            return self.panels
        behind = [variant for variant in self.variants if variant.reference]
        alone = [replace(variant, dash="-") for variant in self.variants if not variant.reference]
        return [Panel(variant.label, [*behind, variant]) for variant in alone]


@dataclass(frozen=True)
class Stack:
    """Several quantities of the same variants above each other, on one time axis.

    `columns` are stretches of time, each with the specs of its rows from top to bottom; all have as many rows.
    """

    title: str
    subtitle: str
    columns: Sequence[Sequence[FigureSpec]]
    left_out: Sequence[str] = ()
