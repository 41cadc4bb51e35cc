"""What a figure over time shows, ready to draw. Light to import, so that a drawing process starts at once."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Quantity:
    """What a figure shows: `stem` of its file name, title, how it was taken, label of the y axis with unit.

    `steps`: a state that holds until the next sample, drawn as steps. `group`: the TCP flows it is about, if any.
    """

    stem: str
    title: str
    how: str
    axis: str
    steps: bool
    group: str = ""


@dataclass(frozen=True)
class Curve:
    """One line: times in s and values, of equal length."""

    times: Values
    values: Values


@dataclass(frozen=True)
class Bar:
    """A piece of a strip beneath the panel: what was the case (`kind` decides the colour) from `start_s` to `end_s`."""

    kind: str
    start_s: float
    end_s: float


@dataclass(frozen=True)
class Variant:
    """One value of the axis that the figure compares: its label, colour, dashes, and its curves (one a flow).

    `phases` are the pieces of its strip, empty for none.
    """

    label: str
    colour: str
    dash: str
    curves: Sequence[Curve]
    phases: Sequence[Bar] = ()


@dataclass(frozen=True)
class Scene:
    """What all panels of a figure share; `changes` are (seconds, words) of what the scenario changed meanwhile."""

    quantity: Quantity
    subtitle: str
    legend_title: str
    duration_s: float
    variants: Sequence[Variant]
    changes: Sequence[tuple[float, str]] = ()
