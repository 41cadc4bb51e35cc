"""The values of an axis in figures: the label of each, and its look in every figure of a result."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from netwarp.analysis.summary.selection import NAME, SEED, is_member
from netwarp.plots.colours import CONGESTION_CONTROLS, Look, known_look, looks
from netwarp.plots.labels import in_order, is_ordered, short_case, shortened_alike
from netwarp.store.result import ResultDir
from netwarp.store.summary import CASE, axis_text

_FILES = ("file:", "program:")
"""Prefixes of a congestion control that is a module's file, or a program."""
_OF_OTHERS = ("prague", "bbr_draft")
"""Controls in the table of looks that the kernel lacks: the table means a module's file of that name."""
_NAMED = (".cc", ".queue", ".default_qdisc")


@dataclass(frozen=True)
class AxisValues:
    """All values that the plan has on an axis, by their text: labels, looks, and whether they have an order.

    `by_name`: they have known colours, as congestion controls have, and keep them in every figure.
    """

    labels: Mapping[str, str]
    looks: Mapping[str, Look]
    ordered: bool
    by_name: bool = False

    def label(self, value: Any) -> str:
        """The label of a value; a dash if a run has none."""
        return "–" if value is None else self.labels.get(axis_text(value), axis_text(value))

    def look(self, value: Any) -> Look:
        """Colour and dashes of a value of the plan."""
        return self.looks[axis_text(value)]


def axis_values(result: ResultDir, axis: str) -> AxisValues:
    """The values of an axis, of `seed`, or of `name` (the flows), also of runs that are not made yet."""
    if axis == NAME:
        groups = groups_of(result)
        flows, others = of_values(groups), of_values([name for name in _names(result) if name not in groups])
        # Queues and links have separate looks, so that those of the flows do not change.
        return replace(flows, labels={**others.labels, **flows.labels}, looks={**others.looks, **flows.looks})
    values = [run.seed if axis == SEED else run.point.get(axis) for run in result.planned]
    return of_values([value for value in values if value is not None], axis)


def of_values(values: Sequence[Any], axis: str = "") -> AxisValues:
    """Labels and looks of values, which may occur several times. A look depends on a value's place among all values."""
    known = in_order(list({axis_text(value): value for value in values}.values()))
    texts = [axis_text(value) for value in known]
    shown = shown_apart(known)
    labels = shortened_alike([short_case(label) for label in shown] if axis == CASE else shown)
    ordered = is_ordered(known)
    named = axis.endswith(_NAMED) or any(text.startswith(_FILES) for text in texts)
    found = looks(labels if axis == CASE else shown, ordered, named=named)
    by_name = not ordered and (named or any(known_look(text) for text in shown))
    return AxisValues(dict(zip(texts, labels, strict=True)), dict(zip(texts, found, strict=True)), ordered, by_name)


def groups_of(result: ResultDir) -> list[str]:
    """The names of the flows that have metrics in any run; several flows of a group have the group's name."""
    names = result.summary().filter(scope="flow")["name"].drop_nulls().unique(maintain_order=True).to_list()
    return [name for name in names if not is_member(name, names)]


def _names(result: ResultDir) -> list[str]:
    """All names that have metrics in any run."""
    return result.summary()["name"].drop_nulls().unique(maintain_order=True).to_list()


def shown_apart(values: Sequence[Any]) -> list[str]:
    """Values in words, as of `shown_as`; files of the same name in different folders keep their paths."""
    shown = [shown_as(value) for value in values]
    return [axis_text(v) if shown.count(label) > 1 else label for v, label in zip(values, shown, strict=True)]


def words_of(values: Sequence[Any]) -> dict[str, str]:
    """The text of each value of an axis → the way it is shown; numbers in their order, others in the given order."""
    found = in_order(list({axis_text(value): value for value in values}.values()))
    return dict(zip(map(axis_text, found), shown_apart(found), strict=True))


def shown_as(value: Any) -> str:
    """A value in words; for a module's file the name of the module and its parameters.

    A file with the name of one of the kernel's modules keeps its suffix, because it is a different module.
    """
    text = axis_text(value)
    if not text.startswith(_FILES):
        return text
    place, *parameters = text.partition(":")[2].split()
    file = place.rstrip("/").rpartition("/")[2]
    name = file.removesuffix(".c").removeprefix("tcp_").removeprefix("sch_") or file
    kernels = name in CONGESTION_CONTROLS and name not in _OF_OTHERS
    return " ".join([file if kernels else name, *parameters])
