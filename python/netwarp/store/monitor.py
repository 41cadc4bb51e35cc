"""Recordings of `netwarp watch`, and `sockets.arrows` of a run: one row for each connection and instant."""

from pathlib import Path

import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]

from netwarp.store.batches import open_stream
from netwarp.store.errors import StoreError, store_errors
from netwarp.store.files import open_regular, read_content
from netwarp.store.streams import frame_of

_MAX_CSV_BYTES = 1 << 30
IDENTITY = ("cookie", "source", "source_port", "destination", "destination_port")
"""The columns that distinguish one series from another."""


def read_monitor(path: Path) -> pl.DataFrame:
    """The rows of a CSV file or an Arrow stream, sorted by time, with a column `time_s`.

    A stream that was cut short has the rows of its whole batches. Raises StoreError if the file cannot be read or is
    not such a table, which has a time and at least one other column.
    """
    with open_regular(path) as file, store_errors(path, "read"):
        head = file.read(8)
    frame = _arrow(path) if head.startswith((b"\xff\xff\xff\xff", b"ARROW1")) else _csv(path)
    if frame.schema.get("time_ns", pl.Null).is_numeric():
        frame = frame.with_columns(time_s=pl.col("time_ns") / 1e9)
    if not frame.schema.get("time_s", pl.Null).is_numeric():
        raise StoreError(
            f"{path} has no column time_s or time_ns with numbers: it is not a recording of `netwarp watch`"
        )
    frame = frame.sort("time_s", maintain_order=True)
    _check_told_apart(frame, path)
    return frame


def series_columns(frame: pl.DataFrame) -> list[str]:
    """The columns of the frame by which rows of one connection are recognised."""
    return [name for name in ("node", *IDENTITY) if name in frame.columns]


def _check_told_apart(frame: pl.DataFrame, path: Path) -> None:
    """Refuse rows of several connections that cannot be told apart: a line through them would mean nothing."""
    counts = frame.group_by("time_s", *series_columns(frame), maintain_order=True).len().filter(pl.col("len") > 1)
    if counts.height:
        raise StoreError(
            f"{path} has {counts['len'][0]} connections at {counts['time_s'][0]:g} s that its columns do not tell "
            "apart: record it with --fields connection,… or without --fields"
        )


CONTROL_BYTES = 64_000
CONTROL_SHARE = 0.01
"""The most bytes that a control connection moves, absolutely and as a share of the connection that it controls.

iperf3 has one for each test, between the same addresses and with the same server port. The kernel's delivery rate of
its few packets (a burst over an empty queue: hundreds of Mbit/s) would mislead."""


def without_control(frame: pl.DataFrame) -> tuple[pl.DataFrame, int | None]:
    """The rows without those of control connections, and the number of control connections.

    The number is None if the file lacks the addresses or the bytes sent, by which they are recognised.
    """
    key = series_columns(frame)
    if not {*IDENTITY, "bytes_sent"} <= set(frame.columns):
        return frame, None
    counters = [name for name in ("bytes_sent", "bytes_received") if name in frame.columns]
    moved = frame.group_by(key, maintain_order=True).agg(
        moved=pl.sum_horizontal(pl.col(name).cast(pl.Float64).max() for name in counters)
    )
    # At the client, connections share the peer's port; at the server, their own.
    beside = [
        pl.col("moved").max().over([name for name in key if name not in ("cookie", other)])
        for other in ("source_port", "destination_port")
    ]
    small = (pl.col("moved") > 0) & (pl.col("moved") <= CONTROL_BYTES)
    control = moved.filter(small & (pl.col("moved") <= CONTROL_SHARE * pl.max_horizontal(beside)))
    return frame.join(control, on=key, how="anti", maintain_order="left"), control.height


def _csv(path: Path) -> pl.DataFrame:
    try:
        return pl.read_csv(read_content(path, _MAX_CSV_BYTES), infer_schema_length=None)
    except (pl.exceptions.PolarsError, ValueError) as error:
        reason = str(error).splitlines()[0][:200]
        raise StoreError(f"cannot read {path}: it is neither CSV nor an Arrow stream ({reason})") from error


def _arrow(path: Path) -> pl.DataFrame:
    stream = open_stream(path)
    if stream is None:
        raise StoreError(f"cannot read {path}: it is not an Arrow stream")
    # Without the columns' metadata, which polars decodes too: it panics if the text is damaged.
    schema = pa.schema([stream.schema.field(index).remove_metadata() for index in range(len(stream.schema))])
    batches = [batch.cast(schema) for batch in stream.batches()]
    return frame_of(pa.Table.from_batches(batches, schema), path)
