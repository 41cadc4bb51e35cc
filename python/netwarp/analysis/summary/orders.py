"""Whether values are in the order that an expectation names."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from netwarp.analysis.summary.conditions import Selection, selection_text, selects

_MEASURED = ("run_id", "status", "scope", "metric", "value")
"""Columns of a summary in which two rows may differ and still be comparable; the others are what runs are varied in."""


@dataclass(frozen=True)
class OrderedRuns:
    """Runs that differ in nothing but the steps: the values of each step, and where they stand otherwise, in words.

    `seed` is that of all of them; None if the steps choose seeds.
    """

    place: str
    seed: int | None
    values: tuple[tuple[float, ...], ...]

    @property
    def broken(self) -> int | None:
        """The first step that is not below the next one with all its values; None if all are."""
        pairs = zip(self.values, self.values[1:], strict=False)
        # Written so that a value that is no number is in no order.
        return next((at for at, (one, other) in enumerate(pairs) if not max(one) < min(other)), None)

    @property
    def text(self) -> str:
        """The values in words: `22.3 to 53 < 118 < 2032`."""
        return " < ".join(span(values) for values in self.values)


def ordered_runs(rows: pl.DataFrame, steps: Sequence[Selection]) -> Iterator[OrderedRuns]:
    """The rows of one metric compared step by step, among those alike in all columns that the steps do not name.

    Rows of a place where not every step has a value are no comparison.
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
    """An order in words: `CoDel or CAKE < RED < tail drop`; what is compared is named where it is not plain."""
    return " < ".join(step_text(step) for step in steps)


def step_text(step: Mapping[str, object]) -> str:
    """A step in words: the values alone if it names but one thing."""
    text = selection_text(step)
    return text.partition(" = ")[2] if len(step) == 1 else f"({text})"


def span(values: Sequence[float]) -> str:
    """The one value, or the range of several."""
    low, high = min(values), max(values)
    return f"{low:.6g}" if low == high else f"{low:.6g} to {high:.6g}"
