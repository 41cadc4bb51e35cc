"""Reads Parquet and CSV files of a result, which may be damaged. A path is a file and never a pattern."""

from pathlib import Path

import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from netwarp.store.errors import StoreError, store_errors
from netwarp.store.files import open_regular, read_content
from netwarp.store.streams import frame_of

_NONE = pl.Schema()


def read_parquet(path: Path, columns: pl.Schema = _NONE) -> pl.DataFrame:
    """The table at `path`, with at least these columns. Raises StoreError if it cannot be read, or if one of them is
    missing or has another type.

    pyarrow reads it, because a damaged file makes polars panic, and validates its values before polars gets them.
    """
    try:
        with open_regular(path) as file, store_errors(path, "read"):
            table = pq.ParquetFile(file).read()
        table.validate(full=True)
    except (pa.ArrowException, pl.exceptions.PolarsError, ValueError, TypeError) as error:
        raise StoreError(f"cannot read {path}: it is damaged ({str(error)[:200]})") from error
    frame = frame_of(table, path)
    for name, kind in columns.items():
        if frame.schema.get(name) != kind:
            found = frame.schema.get(name, "missing")
            raise StoreError(f"cannot read {path}: its column {name} is {found}; expected {kind}")
    return frame


def read_csv(path: Path, schema: pl.Schema | None = None) -> pl.DataFrame:
    """The CSV file at `path`, with these columns and types if they are given. Raises StoreError."""
    try:
        with store_errors(path, "read"):
            return pl.read_csv(read_content(path), schema=schema, infer_schema_length=None)
    except (pl.exceptions.PolarsError, ValueError) as error:
        raise StoreError(f"cannot read {path}: it is not CSV ({str(error).splitlines()[0][:200]})") from error
