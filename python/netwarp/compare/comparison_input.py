"""One side of a comparison: a result, or the part of it in which some axes have given values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from netwarp.common.words import did_you_mean
from netwarp.store.documents import PlanJson
from netwarp.store.errors import SelectionError, StoreError
from netwarp.store.result import ResultDir, open_verified
from netwarp.store.summary import axis_text


@dataclass(frozen=True)
class ComparisonInput:
    """One side: `letter` is A or B, `chosen` the values of axes that select runs, `summary` the rows of these runs.

    `version` is that of the netwarp that made it, `linux` the release of its kernel; each is empty if unknown.
    """

    letter: str
    path: Path
    chosen: Mapping[str, str]
    plan: PlanJson
    axes: tuple[str, ...]
    summary: pl.DataFrame
    version: str = ""
    linux: str = ""

    @property
    def title(self) -> str:
        """The directory, and the values that select runs of it."""
        return ", ".join([str(self.path), *(f"{path} = {value}" for path, value in self.chosen.items())])

    def values_of(self, axis: str) -> list[str]:
        """Return the values of an axis here, as text, each once, in the plan's order."""
        return list(dict.fromkeys(self.summary[axis].to_list())) if axis in self.axes else []


def open_input(letter: str, path: Path, choices: Sequence[str] = ()) -> ComparisonInput:
    """Open the runs of the result at `path` that every choice (`PATH=VALUE`) selects; values of axes become text.

    Raises StoreError if it is not a result or has no summary, SelectionError for a choice that it does not have.
    """
    result = open_verified(path)
    summary, axes = _texts(result), tuple(result.axes)
    present = [axis for axis in axes if axis in summary.columns]
    values = {axis: summary[axis].unique(maintain_order=True).drop_nulls().to_list() for axis in present}
    chosen = {}
    for choice in choices:
        axis, value = parse_choice(choice, path, values)
        chosen[axis] = value
    kept = summary.filter(*(pl.col(axis) == value for axis, value in chosen.items()))
    if kept.is_empty():
        raise SelectionError(f"no run of {path} has {', '.join(f'{axis} = {value}' for axis, value in chosen.items())}")
    return ComparisonInput(letter, path, chosen, result.plan, axes, kept, _version(result), _linux(result))


def parse_choice(choice: str, path: Path, values: Mapping[str, Sequence[str]]) -> tuple[str, str]:
    """Parse `PATH=VALUE` into an axis and one of its `values` in the result at `path`. Raises SelectionError."""
    axis, equals, value = choice.partition("=")
    if not equals:
        raise SelectionError(f'"{choice}" is not PATH=VALUE, such as flows.bulk.cc=cubic')
    if axis not in values:
        raise SelectionError(
            f'"{axis}" is not an axis of {path}{did_you_mean(axis, values) if values else ": none is"}'
        )
    if value not in values[axis]:
        raise SelectionError(f'{axis} is never "{value}" in {path}{did_you_mean(value, values[axis])}')
    return axis, value


def _version(result: ResultDir) -> str:
    """The version of netwarp that made a result; empty if its manifest does not say, or cannot be read."""
    try:
        return result.manifest.get("netwarp") or ""
    except StoreError:
        return ""


def _linux(result: ResultDir) -> str:
    """The release of the kernel that made a result's runs; empty if no run names one, or if they have several."""
    made = next((run for run in result.planned if result.is_complete(run.id)), None)
    try:
        return result.run(made.id).document.kernel.version if made and "kernel" not in result.axes else ""
    except StoreError:
        return ""  # an old or an imported result may lack it


def _texts(result: ResultDir) -> pl.DataFrame:
    """The summary with the values of its axes as text, so that values of two results can be compared."""
    summary = result.summary()
    texts = [
        pl.Series(axis, [None if value is None else axis_text(value) for value in summary[axis].to_list()], pl.String)
        for axis in result.axes
        if axis in summary.columns
    ]
    return summary.with_columns(texts)
