"""A run directory: its description and lazy readers of its tables."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from netwarp.lab_format.model import Lab
from netwarp.store.description import Description, describe
from netwarp.store.documents import RunDocument, StatusJson, checked
from netwarp.store.errors import StoreError
from netwarp.store.files import open_regular, read_json, write_atomic
from netwarp.store.keep import kept
from netwarp.store.network import Network, network_of
from netwarp.store.run_status import RunStatus
from netwarp.store.schemas import TABLES
from netwarp.store.status import read_status, write_status
from netwarp.store.streams import StreamState, batches, has_rows, length, scan_stream, short_table, slices, stream_state
from netwarp.store.tables import read_parquet
from netwarp.values.keep import Keep

METRICS_SCHEMA = pl.Schema({"scope": pl.String, "name": pl.String, "metric": pl.String, "value": pl.Float64})
_COMPUTED_BY = "computed_by"


@dataclass(frozen=True)
class RunDir:
    """One run directory; opening it reads nothing."""

    path: Path
    written_lab: Lab | None = field(default=None, compare=False, repr=False)
    """The lab in `run.json` if this process has just written it there, which is not loaded again."""
    holds: bool = field(default=False, compare=False, repr=False)
    """Whether short tables stay in memory once they have been read, for what reads the same ones many times."""

    @cached_property
    def description(self) -> Description:
        """The description of the run (`run.json`, with the lab in it or beside it). Raises StoreError."""
        return describe(self.document)

    @cached_property
    def network(self) -> Network:
        """The network that it ran on, from the same file. Raises StoreError."""
        return network_of(self.lab)

    @property
    def lab(self) -> Lab:
        """The lab that its engine got, with the parts that were found after the run. Raises StoreError."""
        return self.document.lab

    @cached_property
    def document(self) -> RunDocument:
        """`run.json`, with the lab in it or beside it. Raises StoreError."""
        run = read_json(self.path / "run.json")
        if "lab" not in run:
            run["lab"] = read_json(self.path / "lab.json")
        run.setdefault("id", self.path.name)
        return checked({**run, "lab": self.written_lab or run["lab"]}, RunDocument, self.path / "run.json")

    def scan(self, table: str) -> pl.LazyFrame:
        """A lazy frame of a table by name (`packets`, `acks` …); missing, empty or cut-short files are not errors."""
        held = self._held(table)
        return scan_stream(self.path / TABLES[table].file, TABLES[table]) if held is None else held.lazy()

    def batches(self, table: str, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """These columns of a table, some hundred thousand rows at a time; at least one frame. Raises StoreError."""
        held = self._held(table)
        if held is None:
            return batches(self.path / TABLES[table].file, TABLES[table], columns)
        return slices(held.select(columns))

    def state(self, table: str) -> StreamState:
        """Whether the table's file is missing, empty, truncated or complete."""
        return stream_state(self.path / TABLES[table].file)

    def has_rows(self, table: str) -> bool:
        """Whether the table has any row; looks at its first batches only."""
        held = self._held(table)
        return has_rows(self.path / TABLES[table].file) if held is None else held.height > 0

    def length(self, table: str) -> int:
        """The number of the table's rows; decompresses none. Raises StoreError."""
        held = self._held(table)
        return length(self.path / TABLES[table].file) if held is None else held.height

    def _held(self, table: str) -> pl.DataFrame | None:
        """The table if this run holds it; None if it holds none, or if the table is long or cannot be read."""
        if not self.holds:
            return None
        if table not in self._tables:
            self._tables[table] = short_table(self.path / TABLES[table].file, TABLES[table])
        return self._tables[table]

    @cached_property
    def _tables(self) -> dict[str, pl.DataFrame | None]:
        """The tables that `_held` has found by name."""
        return {}

    @property
    def keep(self) -> Keep:
        """The records that it has kept. Raises StoreError."""
        return kept(self.path)

    @property
    def metrics_path(self) -> Path:
        """The path of this run's metrics."""
        return self.path / "metrics.parquet"

    def metrics(self) -> pl.DataFrame:
        """The metrics of this run: scope, name, metric, value. Raises StoreError if they are missing."""
        return read_parquet(self.metrics_path, METRICS_SCHEMA)

    def write_metrics(self, metrics: pl.DataFrame, computed_by: str = "") -> None:
        """Write `metrics.parquet`, atomically, with the digest of the code that computed it. Raises StoreError."""
        frame = metrics.select(pl.col(name).cast(kind) for name, kind in METRICS_SCHEMA.items())
        note = {_COMPUTED_BY: computed_by}
        write_atomic(
            self.metrics_path, lambda path: frame.write_parquet(path, compression="uncompressed", metadata=note)
        )

    def metrics_computed_by(self) -> str | None:
        """The digest that `write_metrics` stored; None if no metrics can be read."""
        try:
            with open_regular(self.metrics_path) as file:
                metadata = pq.ParquetFile(file).metadata.metadata or {}
            return bytes(metadata.get(_COMPUTED_BY.encode(), b"")).decode() or None
        except (StoreError, OSError, ValueError, pa.ArrowException):
            return None

    def status(self) -> StatusJson:
        """`status.json`: status, reason, seconds. Raises StoreError."""
        return read_status(self.path)

    def write_status(self, status: RunStatus, reason: str | None, **facts: Any) -> None:
        """Write `status.json`, the only file with wall-clock facts. Raises StoreError, ValueError."""
        write_status(self.path, status, reason, **facts)


def open_run(path: Path) -> RunDir:
    """Open a run directory. Raises StoreError if there is no `run.json` in it."""
    if not (path / "run.json").is_file():
        raise StoreError(f"{path} is not a run directory: it has no run.json")
    return RunDir(path)
