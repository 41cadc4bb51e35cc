"""Checks of the order of values that an expectation names."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from netwarp.analysis.summary.conditions import Selection, selection_text, selects

_MEASURED = ("run_id", "status", "scope", "metric", "value")
"""Columns of a summary in which comparable rows may differ; runs are varied in the others."""


@dataclass(frozen=True)
class OrderedRuns:
    """Runs that differ only in the steps: the values of each step, and the runs' common point in words.

    `seed` is the seed of all of them; None if the steps choose seeds.
    """

    place: str
    seed: int | None
    values: tuple[tuple[float, ...], ...]

    @property
    def broken(self) -> int | None:
        """The first step that has a value not below all values of the next; None if there is none."""
        pairs = zip(self.values, self.values[1:], strict=False)
        # Written so that NaN breaks the order.
        return next((at for at, (one, other) in enumerate(pairs) if not max(one) < min(other)), None)

    @property
    def text(self) -> str:
        """The values in words: `22.3 to 53 < 118 < 2032`."""
        return " < ".join(span(values) for values in self.values)


def ordered_runs(rows: pl.DataFrame, steps: Sequence[Selection]) -> Iterator[OrderedRuns]:
    """Yield the values of one metric step by step, for rows with equal values in all columns that no step names.

    Rows are left out if a step has no value there.
    """
    fixed = [name for name in rows.columns if name not in (*_MEASURED, *steps[0])]
    varied = [name for name in fixed if rows[name].n_unique() > 1]
    parts = rows.partition_by(varied, as_dict=True, maintain_order=True) if varied else {(): rows}
    for key, part in parts.items():
        values = [part.filter(*selects(part, step))["value"].drop_nulls().to_list() for step in steps]
        if all(values):
            place = selection_text(dict(zip(varied, key, strict=True)))
            seed = None if "seed" in steps[0] else int(part["seed"][0])
            yield OrderedRuns(place, seed, tuple(map(tuple, values)))


def order_text(steps: Sequence[Selection]) -> str:
    """An order in words: `CoDel or CAKE < RED < tail drop`; columns are named if steps have several."""
    return " < ".join(step_text(step) for step in steps)


def step_text(step: Mapping[str, object]) -> str:
    """A step in words: only the values if it names one column."""
    text = selection_text(step)
    return text.partition(" = ")[2] if len(step) == 1 else f"({text})"


def span(values: Sequence[float]) -> str:
    """A single value, or the range of several, in words."""
    low, high = min(values), max(values)
    return f"{low:.6g}" if low == high else f"{low:.6g} to {high:.6g}"
