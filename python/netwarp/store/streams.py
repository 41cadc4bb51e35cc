"""Reads Arrow IPC streams lazily, also if a failed run left them incomplete."""

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
from polars.io.plugins import register_io_source

from netwarp.store.batches import BATCH_ROWS, open_stream, write_options
from netwarp.store.errors import StoreError, store_errors
from netwarp.store.table import Table

_CHUNK_ROWS = 1 << 18

_SMALL_BYTES = 16 << 10
"""A stream of no more bytes is read as a whole, since polars takes a millisecond, and three of its threads, to ask a
source for its parts."""

_SHORT_BYTES = 2 << 20
"""A table that stays in memory has no more bytes: some 300,000 packets, which take 20 MB there."""


Cell = bool | int | float | str | bytes | None
Row = Mapping[str, Cell]
"""A row of a table by the names of its columns."""


class StreamState(StrEnum):
    """The state of a stream's file."""

    MISSING = "missing"
    EMPTY = "empty"  # no bytes, or not even a whole schema
    TRUNCATED = "truncated"  # the writer died: no end-of-stream mark
    COMPLETE = "complete"


def write_stream(path: Path, table: Table, rows: Iterable[Row]) -> None:
    """Write rows as the table's stream; a column that a row lacks is null. Raises StoreError."""
    content = pa.Table.from_pylist([dict(row) for row in rows], schema=table.schema)
    with (
        store_errors(path, "write"),
        path.open("wb") as file,
        pa.ipc.new_stream(file, table.schema, options=write_options()) as writer,
    ):
        writer.write_table(content, max_chunksize=BATCH_ROWS)


@cache
def polars_schema(table: Table) -> pl.Schema:
    """The table's schema in polars' types."""
    return pl.Schema(table.schema)


def scan_stream(path: Path, table: Table) -> pl.LazyFrame:
    """A lazy frame over the stream at `path`, with exactly the columns of `table`.

    A short file is read at once. A longer one is mapped: only the requested columns of one chunk at a time are read.
    Rows end at the last whole batch; a missing or empty file has no rows. Nullable columns that the file lacks are null
    in every row. Raises StoreError if the file is not an Arrow stream or lacks a required column.
    """
    return scan_streams([path], table, [])


def scan_streams(paths: Sequence[Path], table: Table, labels: Sequence[pl.Series]) -> pl.LazyFrame:
    """Scan several streams of a table, one after the other; each row begins with the labels of its stream.

    Each of `labels` has a value for each stream. All streams are one source, because polars' plan of a union grows with
    the square of its parts. Raises StoreError as `scan_stream` does.
    """
    own = polars_schema(table)
    schema = pl.Schema({label.name: label.dtype for label in labels} | dict(own))
    size = sum(_checked_size(path, table) for path in paths)

    def source(
        columns: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, _batch_size: int | None
    ) -> Iterator[pl.DataFrame]:
        wanted = list(schema) if columns is None else columns
        left = n_rows
        named = [label for label in labels if label.name in wanted]
        for number, path in enumerate(paths):
            # At least one column of the stream, which gives the number of rows.
            inner = [name for name in wanted if name in own] or list(own)[:1]
            for frame in _frames(path, table, inner, own):
                part = frame if left is None else frame.head(left)
                left = None if left is None else left - part.height
                if wanted != inner:
                    heads = [pl.lit(label[number], label.dtype).alias(label.name) for label in named]
                    part = part.with_columns(heads).select(wanted)
                yield part if predicate is None else part.filter(predicate)
                if left == 0:
                    return

    if size == 0:
        return pl.LazyFrame(schema=schema)
    if size <= _SMALL_BYTES:
        with contextlib.suppress(StoreError):  # perhaps of a column that is not asked for
            return pl.concat(source(None, None, None, None)).lazy()
    return register_io_source(source, schema=schema, is_pure=True)


def batches(path: Path, table: Table, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
    """These columns of the stream at `path`, some hundred thousand rows at a time, as `scan_stream` has them.

    At least one frame, perhaps without rows. For what needs no more than some rows at once: collecting a lazy frame
    takes memory in proportion to the length of the run. Raises StoreError.
    """
    _checked_size(path, table)
    for frame in _frames(path, table, list(columns), polars_schema(table)):
        yield from slices(frame)


def slices(frame: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """The frame in slices of some hundred thousand rows; at least one slice, perhaps without rows."""
    yield frame.head(_CHUNK_ROWS)
    yield from frame.slice(_CHUNK_ROWS).iter_slices(_CHUNK_ROWS)


def short_table(path: Path, table: Table) -> pl.DataFrame | None:
    """The whole stream at `path`, if it is short; None if it is long or if any of it cannot be read."""
    own = polars_schema(table)
    with contextlib.suppress(StoreError):
        if _checked_size(path, table) <= _SHORT_BYTES:
            return pl.concat(_frames(path, table, list(own), own), rechunk=True)
    return None


def has_rows(path: Path) -> bool:
    """Whether the stream at `path` has any row; looks at its first batches only."""
    stream = open_stream(path)
    return stream is not None and any(stream.lengths())


def length(path: Path) -> int:
    """The number of rows of the stream at `path`; 0 if it is missing. Raises StoreError."""
    stream = open_stream(path)
    return 0 if stream is None else sum(stream.lengths())


def stream_state(path: Path) -> StreamState:
    """The state in which the writer left the file. Raises StoreError if it is not an Arrow stream."""
    if not path.exists():
        return StreamState.MISSING
    if open_stream(path) is None:
        return StreamState.EMPTY
    with path.open("rb") as file:
        file.seek(max(path.stat().st_size - 8, 0))
        ended = file.read() == b"\xff\xff\xff\xff\0\0\0\0"
    return StreamState.COMPLETE if ended else StreamState.TRUNCATED


_KINDS = (
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_boolean,
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_string_view,
    pa.types.is_null,
)
"""Types of netwarp's tables, and other types for the same values. Polars panics on some types beyond these."""


def frame_of(content: pa.Table, path: Path) -> pl.DataFrame:
    """Convert an Arrow table to a polars frame. Raises StoreError if a name occurs twice, or if the values of a column
    are not numbers or text; `path` is the source of the table."""
    names: set[str] = set()
    for field in content.schema:
        if field.name in names:
            raise StoreError(f"cannot read {path}: it has two columns {field.name[:80]!r}")
        if not any(is_kind(field.type) for is_kind in _KINDS):
            raise StoreError(
                f"cannot read {path}: its column {field.name[:80]!r} is of type {str(field.type)[:80]}; "
                "expected numbers or text"
            )
        names.add(field.name)
    # Without the metadata: polars panics if it is not text.
    frame = pl.from_arrow(pa.table(content.columns, names=content.schema.names))
    assert isinstance(frame, pl.DataFrame)
    return frame


def _checked_size(path: Path, table: Table) -> int:
    """The bytes of the stream; 0 without one. Refuses a file that is not the table's, before polars reads it and wraps
    the error in its own."""
    if (stream := open_stream(path)) is None:
        return 0
    for name in table.schema.names:
        if stream.schema.names.count(name) > 1:
            raise StoreError(f"cannot read {path}: it has two columns {name!r}")
        if name not in stream.schema.names and not table.schema.field(name).nullable:
            raise StoreError(f"cannot read {path}: it has no column {name}; another version of netwarp made it")
    return stream.size


def _frames(path: Path, table: Table, wanted: list[str], schema: pl.Schema) -> Iterator[pl.DataFrame]:
    """Chunks of about `_CHUNK_ROWS` rows, at least one (perhaps empty)."""
    target = pl.Schema({name: schema[name] for name in wanted})
    stream = open_stream(path)
    if stream is None:
        yield pl.DataFrame(schema=target)
        return
    present = [name for name in wanted if name in stream.schema.names]
    # Without the columns' metadata, which polars decodes too: it panics if the text is damaged.
    arrow_schema = pa.schema([stream.schema.field(name).remove_metadata() for name in present])
    pending: list[pa.RecordBatch] = []
    rows = 0
    for batch in stream.batches(present):
        if batch.num_rows == 0:
            continue
        _check_presence(batch, table, present, path)
        pending.append(batch)
        rows += batch.num_rows
        if rows >= _CHUNK_ROWS:
            yield _conform(pa.Table.from_batches(pending, arrow_schema), target, path)
            pending, rows = [], 0
    yield _conform(pa.Table.from_batches(pending, arrow_schema), target, path)


def _check_presence(batch: pa.RecordBatch, table: Table, columns: list[str], path: Path) -> None:
    """Refuse a batch that lacks a required value."""
    for name in columns:
        if batch.column(name).null_count and not table.schema.field(name).nullable:
            raise StoreError(f"cannot read {path}: column {name} lacks a value in some row; every row must have one")


def _conform(arrow: Any, target: pl.Schema, path: Path) -> pl.DataFrame:
    """The Arrow table as a frame of exactly the target's columns and types."""
    frame = frame_of(arrow, path)
    if frame.schema == target:
        return frame
    columns = [
        pl.col(name).cast(kind) if name in frame.columns else pl.lit(None, kind).alias(name)
        for name, kind in target.items()
    ]
    try:
        return frame.select(columns) if frame.columns else pl.DataFrame(schema=target)
    except pl.exceptions.PolarsError as error:
        raise StoreError(f"cannot read {path}: a column has another type than expected ({error})") from error
