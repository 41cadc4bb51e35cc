"""A case of a suite: an RFC's question, the network that answers it, the measures, and their bounds.

A case is data. The subject, a congestion control or a queue, is a parameter: the values of the paths in `sets`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from netwarp.verify.row import Experiment

LONE = "alone"
"""The name of the runs without the subject, to which harm is compared."""


class Bar(StrEnum):
    """The meaning of a subject's value that is worse than the baseline's."""

    HARM = "harm"
    """It harms others more than the baseline does, which R. Ware et al. (HotNets 2019) would not deploy."""
    CONCERN = "concern"
    """The RFC asks for it without a threshold."""
    REPORT = "report"
    """Nothing: the RFC wants to know it, and neither value is wrong."""


@dataclass(frozen=True)
class Measure:
    """A metric of a run (docs/metrics.md) in words, and the meaning of a value that is worse than the baseline's.

    `name` is the flow, queue or link. `margin` is the smallest difference that counts, for the reason `why`, if that of
    the catalogue is smaller. `least` and `most` are bounds in place of the baseline, for cases that state one.
    """

    words: str
    scope: str
    name: str
    metric: str
    bar: Bar = Bar.CONCERN
    margin: float = 0.0
    why: str = ""
    least: float | None = None
    most: float | None = None

    @property
    def bound(self) -> float | None:
        """The bound in place of the baseline; None if there is none."""
        return self.most if self.least is None else self.least


@dataclass(frozen=True)
class Axis:
    """The values of a path with which a case is repeated: value → its label."""

    path: str
    points: Mapping[str | int, str]


@dataclass(frozen=True)
class Case:
    """One case: its question with its place in the RFC, its experiment, and its measures.

    `sets` are the paths that the subject is put into, `axis` is a further parameter that varies, and `lone` the path of
    the count of flows that is 0 in the runs without the subject. `waits` names a feature that netwarp lacks; such a
    case has no experiment.
    """

    name: str
    asks: str
    source: str
    experiment: Experiment | None = None
    measures: tuple[Measure, ...] = ()
    sets: tuple[str, ...] = ()
    axis: Axis | None = None
    lone: str = ""
    quick: bool = False
    waits: str = ""


@dataclass(frozen=True)
class Group:
    """Cases on one topic, which share a file. They apply to subjects whose names begin with `only_for`."""

    name: str
    title: str
    cases: tuple[Case, ...]
    only_for: str = ""


@dataclass(frozen=True)
class Subject:
    """A congestion control or a queue that is put into the cases: its value in a scenario, and its name in tables."""

    value: str
    name: str


@dataclass(frozen=True)
class Suite:
    """Groups of cases for one kind of subject, and the references beside it, of which the first is the baseline.

    `option` is the option that names a subject; `trial` a second of traffic, which shows whether a subject is usable.
    """

    name: str
    option: str
    title: str
    sources: str
    trial: Case
    references: tuple[Subject, ...]
    groups: tuple[Group, ...]
    modules: tuple[str, ...] = field(default=())

    @property
    def baseline(self) -> Subject:
        """The reference with which all others are compared."""
        return self.references[0]
