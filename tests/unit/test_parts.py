"""Rows in parts: the same as polars' own partition."""

import numpy as np
import polars as pl
import pytest
from netwarp.analysis.parts import parts_by


@pytest.mark.parametrize("most", [7, 2**32 - 1])
def test_parts_are_those_of_polars(most: int) -> None:
    """Keys of 16 bits are sorted in another way than larger ones."""
    random = np.random.default_rng(1)
    keys = np.array([most, 3, 0, 5], np.uint32)[random.integers(0, 4, 1000)]
    frame = pl.DataFrame({"key": keys, "row": np.arange(1000), "value": random.random(1000)})
    expected = frame.partition_by("key", as_dict=True, include_key=False)
    found = parts_by(frame, "key")
    assert list(found) == [key for (key,) in expected]
    for (key,), part in expected.items():
        assert {name: values.tolist() for name, values in found[key].items()} == part.to_dict(as_series=False)


def test_a_table_without_rows_has_no_parts() -> None:
    assert parts_by(pl.DataFrame(schema={"key": pl.UInt32, "value": pl.Int64}), "key") == {}
