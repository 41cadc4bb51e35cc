"""What `netwarp watch` wrote, and `sockets.arrows` of a run: one row for each connection and instant."""

from pathlib import Path

import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]

from netwarp.store.errors import StoreError, speaking

IDENTITY = ("cookie", "source", "source_port", "destination", "destination_port")
"""What a series cannot be told from another without."""


def read_monitor(path: Path) -> pl.DataFrame:
    """The rows of a CSV file or an Arrow stream, sorted by time, with a column `time_s`.

    A stream that was cut short has the rows of its whole batches. Raises StoreError if the file cannot be read, or is
    no such table: it needs a time and at least one other column.
    """
    with speaking(path, "read"):
        head = path.open("rb").read(8)
    frame = _arrow(path) if head.startswith((b"\xff\xff\xff\xff", b"ARROW1")) else _csv(path)
    if "time_ns" in frame.columns:
        frame = frame.with_columns(time_s=pl.col("time_ns") / 1e9)
    if "time_s" not in frame.columns or not frame.schema["time_s"].is_numeric():
        raise StoreError(f"{path} has no column time_s or time_ns: it is no table of `netwarp watch`")
    return frame.sort("time_s", maintain_order=True)


def _csv(path: Path) -> pl.DataFrame:
    try:
        return pl.read_csv(path, infer_schema_length=None)
    except (pl.exceptions.PolarsError, UnicodeDecodeError) as error:
        reason = str(error).splitlines()[0]
        raise StoreError(f"cannot read {path}: it is neither CSV nor an Arrow stream ({reason})") from error


def _arrow(path: Path) -> pl.DataFrame:
    batches = []
    try:
        reader = pa.ipc.open_stream(pa.memory_map(str(path)))
    except (pa.ArrowInvalid, OSError) as error:
        raise StoreError(f"cannot read {path}: it is not an Arrow stream ({error})") from error
    while True:
        try:
            batches.append(reader.read_next_batch())
        except (StopIteration, pa.ArrowInvalid, OSError):
            break
    frame = pl.from_arrow(pa.Table.from_batches(batches, reader.schema))
    assert isinstance(frame, pl.DataFrame)
    return frame
