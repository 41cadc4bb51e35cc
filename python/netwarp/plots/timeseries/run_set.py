"""The runs that a figure shows side by side, with the data that has been read from each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from netwarp.plots.colours import Look
from netwarp.plots.labels import slug
from netwarp.plots.legibility import MAX_ORDERED, MAX_PANELS
from netwarp.plots.timeseries.figure_spec import Band, Bar, Curve, Quantity, Schedule
from netwarp.values.json_values import Json


@dataclass(frozen=True)
class PlottedRun:
    """A run to draw: its id, where it stands on the axes, and its curves."""

    id: str
    point: Mapping[str, Json]
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
        """The phases to draw below a quantity: those of its own flows, or of all flows if it has none."""
        return self.phases.get(quantity.group, ())


@dataclass(frozen=True)
class RunSet:
    """Runs that differ in one thing (`differs`), labelled by its values, and stand alike on all else (`rest`).

    `looks` are the colours and dashes of the runs' values, and `place` says in words where they stand alike.
    `references` are the runs that they are compared with, with their labels: one for all, or one for each run, or none.
    `stem` tells its files from those of other comparisons; empty if there are no others. `together`: they repeat one
    thing and are shown as one. `of`: how many there are, of which some may not be shown.
    """

    differs: str
    labels: Sequence[str]
    runs: Sequence[PlottedRun]
    rest: Mapping[str, Json]
    stem: str
    references: Sequence[tuple[str, PlottedRun]] = ()
    together: bool = False
    of: int = 0
    looks: Sequence[Look] = ()
    place: Sequence[str] = ()

    def stem_of(self, name: str) -> str:
        """The name of a figure of these runs."""
        return "--".join(part for part in (slug(name), self.stem) if part)

    def reference_of(self, run: PlottedRun) -> tuple[str, PlottedRun] | None:
        """The label and the run with which one of its runs is compared; None if there is none."""
        if len(self.references) > 1:
            return next(found for one, found in zip(self.runs, self.references, strict=True) if one is run)
        return self.references[0] if self.references else None


def some(alike: Sequence[int], ordered: bool, most: int | None = None) -> Sequence[int]:
    """Choose the values that can be shown: from the lowest to the highest if they have an order, else the first."""
    most, last = most or (MAX_ORDERED if ordered else MAX_PANELS), len(alike) - 1
    if len(alike) <= most:
        return alike
    return [alike[round(n * last / (most - 1)) if ordered else n] for n in range(most)]
