"""Rows of a table in parts: those of each flow, connection or interface."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from netwarp.store.rundir import RunDir

_Number = TypeVar("_Number", bound=np.generic)

Columns = Mapping[str, NDArray[Any]]
"""Columns of equal length, by name."""


def rows_by(keys: pl.Series) -> dict[int, NDArray[np.intp]]:
    """The numbers of the rows with each key, in their order; the keys are in the order in which they first appear."""
    values = keys.to_numpy()
    if not len(values):
        return {}
    # numpy sorts 16 bits by radix, in linear time.
    order = np.argsort(values.astype(np.uint16) if values.max() < 1 << 16 else values, kind="stable")
    ordered = values[order]
    starts = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
    parts = sorted(np.split(order, starts), key=lambda rows: int(rows[0]))
    return {int(values[rows[0]]): rows for rows in parts}


def parts_by(frame: pl.DataFrame, key: str) -> dict[int, Columns]:
    """Split the rows by the integers of `key`: the other columns of each part, without nulls, in the rows' order.

    The parts are in the order in which their keys first appear. A frame for each part, as `partition_by` makes, costs
    some ten microseconds for each question about it: the most of a metric of few packets.
    """
    columns = {name: frame[name].to_numpy() for name in frame.columns if name != key}
    return {
        number: {name: values[rows] for name, values in columns.items()} for number, rows in rows_by(frame[key]).items()
    }


def join_arrays(parts: list[NDArray[_Number]]) -> NDArray[_Number]:
    """Join arrays of one type to one, and empty the list: no more than a part is in memory twice.

    A column of a run of a day has millions of rows although only some are kept. Raises ValueError without parts.
    """
    if not parts:
        raise ValueError("no parts to join")
    end = sum(len(part) for part in parts)
    whole = np.empty(end, parts[0].dtype)
    while parts:
        part = parts.pop()
        end -= len(part)
        whole[end : end + len(part)] = part
    return whole


_MOST_GROUPS = 1 << 19
"""Groups that are held apart before groups with the same keys are joined."""


def grouped(
    run: RunDir,
    table: str,
    columns: Sequence[str],
    prepare: Callable[[pl.LazyFrame], pl.LazyFrame],
    *,
    keys: Sequence[str],
    joined: Mapping[str, Callable[[pl.Expr], pl.Expr]],
) -> pl.DataFrame:
    """Group the rows of a table by `keys`: one row a group, in the order in which the groups first appear.

    `prepare` filters and computes; it gets these columns of the table. `joined` has a sum, minimum or maximum for each
    column that it computes: what can be taken again of parts. So no more rows than groups are in memory, however long
    the run is. Raises StoreError.
    """
    rules = [join(pl.col(name)) for name, join in joined.items()]

    def taken(rows: pl.LazyFrame) -> pl.DataFrame:
        return rows.group_by(*keys, maintain_order=True).agg(rules).collect()

    parts: list[pl.DataFrame] = []
    held = whole = 0
    for frame in run.batches(table, columns):
        parts.append(taken(prepare(frame.lazy())))
        held += parts[-1].height
        if held > _MOST_GROUPS + 2 * whole:
            parts = [taken(pl.concat(parts).lazy())]
            held = whole = parts[0].height
    return taken(pl.concat(parts).lazy()) if len(parts) > 1 else parts[0]
