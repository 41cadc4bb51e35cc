"""Export of all tables of a result, each to a file: the summary, the statistics, and the records of all good runs."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import polars as pl

from netwarp.store.files import write_atomic
from netwarp.store.result import ResultDir
from netwarp.store.schemas import TABLES


def write_csv(result: ResultDir, directory: Path) -> list[Path]:
    """Write `summary.csv`, `statistics.csv` and a CSV file for each kind of record. Raises StoreError."""
    return _write(result, directory, "csv", lambda frame, path: frame.sink_csv(path))


def write_parquet(result: ResultDir, directory: Path) -> list[Path]:
    """Write the same tables as Parquet, which keeps types and missing values. Raises StoreError."""
    return _write(result, directory, "parquet", lambda frame, path: frame.sink_parquet(path))


def _write(result: ResultDir, directory: Path, suffix: str, sink: Callable[[pl.LazyFrame, Path], None]) -> list[Path]:
    frames = {"summary": result.summary().lazy(), "statistics": result.statistics().lazy()}
    good = [result.run(run.id) for run in result.good]
    for name in TABLES:
        if any(run.has_rows(name) for run in good):
            frames[name] = result.scan(name)
    files = []
    for name, frame in frames.items():
        path = directory / f"{name}.{suffix}"
        write_atomic(path, partial(sink, frame))
        files.append(path)
    return files
