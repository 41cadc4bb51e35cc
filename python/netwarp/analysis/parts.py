"""Rows of a table in parts: those of each flow, connection or interface."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

Columns = Mapping[str, NDArray[Any]]
"""Columns of equal length, by name."""


def parts_by(frame: pl.DataFrame, key: str) -> dict[int, Columns]:
    """Split the rows by the integers of `key`: the other columns of each part, without nulls, in the rows' order.

    The parts are in the order in which their keys first appear, and are views of one copy. A frame for each part, as
    `partition_by` makes, costs some ten microseconds for each question about it: the most of a metric of few packets.
    """
    keys = frame[key].to_numpy()
    if not len(keys):
        return {}
    # numpy sorts 16 bits by radix, in linear time.
    order = np.argsort(keys.astype(np.uint16) if keys.max() < 1 << 16 else keys, kind="stable")
    ordered = keys[order]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    ends = np.append(starts[1:], len(order))
    columns = {name: frame[name].to_numpy()[order] for name in frame.columns if name != key}
    parts = {
        int(ordered[start]): {name: values[start:end] for name, values in columns.items()}
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
    }
    first_rows = order[starts]
    return {number: parts[number] for number in ordered[starts][np.argsort(first_rows)].tolist()}
