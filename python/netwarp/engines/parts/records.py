"""Merging the records of a divided network's machines into those of its run, in bounded memory.

All machines have one virtual clock, so that rows of a table only have to be put in order of time; of rows of one
instant those of the first part come first. Each machine numbers its five-tuples itself.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from netwarp.engines.accounts import merged_account
from netwarp.lab_format.model import Lab
from netwarp.store.batches import BATCH_ROWS, open_stream, write_options
from netwarp.store.console import CONSOLE
from netwarp.store.errors import store_errors
from netwarp.store.kernel_tables import INTERFACES, TUPLES
from netwarp.store.rows import AccountRow
from netwarp.store.schemas import FLOWS, TABLES, WIRES
from netwarp.store.streams import Row, write_stream
from netwarp.store.table import Table

_ORDER: Mapping[str, Sequence[str]] = {
    "packets": ("dequeue_ns", "drop_ns"),
    "pings": ("sent_ns",),
    "datagrams": ("received_ns",),
    "transfers": ("start_ns",),
    "pages": ("start_ns",),
    "objects": ("known_ns",),
    "segments": ("requested_ns",),
    "playback": ("start_ns",),
}
"""The columns of times by which rows are written, the first that a row has; `time_ns` for others. A packet without one
is still queued at the end."""
_NEVER = np.iinfo(np.int64).max - 1


def merge(parts: Sequence[Path], lab: Lab, directory: Path) -> None:
    """Write the records of all parts, which are in these directories, as those of one run. Raises StoreError."""
    numbers = _merged_tuples(parts, directory)

    def write(table: Table) -> None:
        paths = [part / table.file for part in parts]
        if table in (TUPLES, FLOWS) or not any(path.exists() for path in paths):
            return
        if table in (INTERFACES, WIRES):
            _write_sums(table, paths, directory / table.file)
        else:
            _write_in_order(table, paths, numbers, directory / table.file)

    with ThreadPoolExecutor(len(parts)) as pool:
        list(pool.map(write, TABLES.values()))
    if any((part / FLOWS.file).exists() for part in parts):
        write_stream(directory / FLOWS.file, FLOWS, cast(list[Row], list(_accounts(parts, lab))))
    for part in parts:
        _keep_files(part, directory)


def _rows(path: Path) -> list[dict[str, Any]]:
    stream = open_stream(path)
    return [row for batch in stream.batches() for row in batch.to_pylist()] if stream is not None else []


def _merged_tuples(parts: Sequence[Path], directory: Path) -> list[pa.Array]:
    """Write the five-tuples of all parts, each once; returns the new number of each part's, by the old one."""
    known: dict[tuple[object, ...], int] = {}
    numbers = []
    for part in parts:
        own: dict[int, int] = {}
        for row in _rows(part / TUPLES.file):
            key = tuple(value for name, value in row.items() if name != "tuple_id")
            own[row["tuple_id"]] = known.setdefault(key, len(known))
        numbers.append(pa.array([own.get(number, 0) for number in range(max(own, default=-1) + 1)], pa.uint32()))
    if any((part / TUPLES.file).exists() for part in parts):
        names = [name for name in TUPLES.schema.names if name != "tuple_id"]
        rows = [{"tuple_id": number, **dict(zip(names, key, strict=True))} for key, number in known.items()]
        write_stream(directory / TUPLES.file, TUPLES, cast(list[Row], rows))
    return numbers


def _write_sums(table: Table, paths: Sequence[Path], target: Path) -> None:
    """Add the rows of an interface. Those of a link's end in another part count what came from there: so many less are
    on the way, which wraps below 0 in a row alone."""
    sums: dict[int, dict[str, Any]] = {}
    for row in (row for path in paths for row in _rows(path)):
        known = sums.setdefault(row["interface_index"], dict.fromkeys(row, 0))
        for name, value in row.items():
            known[name] = value if name == "interface_index" else (known[name] + value) % 2**64
    write_stream(target, table, cast(list[Row], [sums[index] for index in sorted(sums)]))


def _write_in_order(table: Table, paths: Sequence[Path], numbers: Sequence[pa.Array], target: Path) -> None:
    sources = [_Source(table, path, number) for path, number in zip(paths, numbers, strict=True)]
    with (
        store_errors(target, "write"),
        target.open("wb") as file,
        pa.ipc.new_stream(file, table.schema, options=write_options()) as writer,
    ):
        waiting: list[pa.Table] = []
        for some in _in_order(sources):
            waiting.append(some)
            if sum(one.num_rows for one in waiting) >= BATCH_ROWS:
                writer.write_table(pa.concat_tables(waiting).combine_chunks(), max_chunksize=BATCH_ROWS)
                waiting = []
        if waiting:
            writer.write_table(pa.concat_tables(waiting).combine_chunks(), max_chunksize=BATCH_ROWS)


def _in_order(sources: Sequence[_Source]) -> Iterator[pa.Table]:
    """The rows of all sources in order of time: as many at once as precede all that is still to be read."""
    while True:
        open_ones = [source for source in sources if source.fill()]
        if not open_ones:
            return
        bound = min(source.last_ns for source in open_ones)
        ready = [source.take_before(bound) for source in open_ones]
        if not any(len(times) for times, _ in ready):
            # All that one of them has is of one instant.
            grown = [source.grow() for source in open_ones if source.last_ns == bound]
            if any(grown):
                continue
            ready = [source.take_before(bound + 1) for source in open_ones]
        times = np.concatenate([times for times, _ in ready])
        rows = pa.concat_tables([rows for _, rows in ready])
        yield rows.take(pa.array(np.argsort(times, kind="stable")))


class _Source:
    """The rows of a table from one part, of which some are in memory."""

    def __init__(self, table: Table, path: Path, numbers: pa.Array) -> None:
        stream = open_stream(path)
        self._table, self._numbers = table, numbers
        self._batches = iter(stream.batches()) if stream is not None else iter(())
        self._rows = table.schema.empty_table()
        self._times = np.empty(0, np.int64)

    @property
    def last_ns(self) -> int:
        """The time of the last row in memory; there must be one."""
        return int(self._times[-1])

    def fill(self) -> bool:
        """Have rows in memory; False if there are none left."""
        return bool(len(self._times)) or self.grow()

    def grow(self) -> bool:
        """Read more rows; False if there are none left."""
        for batch in self._batches:
            if batch.num_rows:
                rows = self._renumbered(pa.Table.from_batches([batch]))
                latest = int(self._times[-1]) if len(self._times) else np.iinfo(np.int64).min
                # A row that was written later than its time comes when it was written.
                times = np.maximum.accumulate(np.maximum(self._times_of(rows), latest))
                self._rows = pa.concat_tables([self._rows, rows])
                self._times = np.concatenate([self._times, times])
                return True
        return False

    def take_before(self, bound: int) -> tuple[np.ndarray[Any, np.dtype[np.int64]], pa.Table]:
        """Take the rows before this time, with their times."""
        number = int(np.searchsorted(self._times, bound))
        taken = self._times[:number], self._rows.slice(0, number)
        self._times, self._rows = self._times[number:], self._rows.slice(number)
        return taken

    def _renumbered(self, rows: pa.Table) -> pa.Table:
        rows = rows.cast(self._table.schema)
        if "tuple_id" not in rows.schema.names:
            return rows
        place = rows.schema.get_field_index("tuple_id")
        return rows.set_column(place, rows.schema.field(place), pc.take(self._numbers, rows["tuple_id"]))

    def _times_of(self, rows: pa.Table) -> np.ndarray[Any, np.dtype[np.int64]]:
        columns = [rows[name] for name in _ORDER.get(self._table.name, ("time_ns",))]
        times = pc.fill_null(pc.coalesce(*columns), _NEVER)
        return cast("np.ndarray[Any, np.dtype[np.int64]]", times.to_numpy())


def _accounts(parts: Sequence[Path], lab: Lab) -> Iterator[AccountRow]:
    """A row for each flow, with what is known at its source and at its destination."""
    found = [{row["flow_id"]: row for row in _rows(part / FLOWS.file)} for part in parts]
    part_of = {node.name: node.part for node in lab.nodes}
    for flow in lab.flows:
        ends = dict.fromkeys((part_of[flow.from_], part_of[flow.to]))
        rows = [cast(AccountRow, found[part][flow.id]) for part in ends if flow.id in found[part]]
        if rows:
            yield merged_account(rows, flow)


def _keep_files(part: Path, directory: Path) -> None:
    """Keep what is not a table: captures, and the consoles one after another."""
    for path in sorted(part.rglob("*")):
        name = path.relative_to(part)
        if path.is_dir() or path.suffix == ".arrows" or str(name) == "run.json":
            continue
        target = directory / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if str(name) == CONSOLE:
            before = target.read_bytes() if target.exists() else b""
            target.write_bytes(before + path.read_bytes())
        else:
            shutil.move(path, target)
