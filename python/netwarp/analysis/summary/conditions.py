"""Selection of rows of a summary by names, cases, seeds and the values of axes."""

from collections.abc import Iterator, Mapping

import polars as pl

from netwarp.store.summary import axis_text
from netwarp.values.choices import listed

Scalar = str | int | float | bool
Selection = Mapping[str, Scalar | tuple[Scalar, ...]]
"""`name` (of a flow, queue, link), `case`, `seed` or an axis by its path → its value, or several of which any matches.
"""


def selects(summary: pl.DataFrame, selection: Selection, *, runs_only: bool = False) -> Iterator[pl.Expr]:
    """Yield the selection as filters of a summary; `runs_only` omits the name, which selects rows within a run."""
    for key, value in selection.items():
        if key == "name" and runs_only:
            continue
        if key not in summary.columns:
            yield pl.lit(False)
        else:
            yield pl.any_horizontal(_equals(summary.schema[key], key, one) for one in listed(value))


def selection_text(selection: Mapping[str, object]) -> str:
    """A selection in words: `case = CoDel or RED, seed = 1`."""
    return ", ".join(f"{key} = {' or '.join(map(axis_text, listed(value)))}" for key, value in selection.items())


def _equals(kind: pl.DataType, column: str, value: object) -> pl.Expr:
    """Whether a column has the value, in its own type or as text."""
    if kind == pl.String:
        return pl.col(column) == axis_text(value)
    if isinstance(value, str) and kind != pl.Boolean:
        value = _number(value)
    comparable = isinstance(value, bool) if kind == pl.Boolean else isinstance(value, int | float)
    return pl.col(column).eq(value) if comparable else pl.lit(False)


def _number(text: str) -> float | None:
    """The number that a text is, as of a version: a sweep on a command line has it without quotation marks."""
    try:
        return float(text)
    except ValueError:
        return None
