"""Rows of a table in parts: those of each flow, connection or interface."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

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
