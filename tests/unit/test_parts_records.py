"""Merging records of several machines: against sorting all rows at once."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, cast

import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from netwarp.engines.parts import records
from netwarp.engines.parts.labs import seed_of_part
from netwarp.store.kernel_tables import ARRIVALS, PACKETS
from netwarp.store.schemas import WIRES
from netwarp.store.streams import Row, write_stream
from netwarp.store.table import Table

NUMBERS = [pa.array(range(5), pa.uint32())] * 3


def _rows(path: Path) -> list[dict[str, Any]]:
    with pa.ipc.open_stream(path.read_bytes()) as reader:
        return cast(list[dict[str, Any]], reader.read_all().to_pylist())


def _row(table: Table, **values: object) -> dict[str, object]:
    usual = {column.name: None if column.nullable else 0 for column in table.columns}
    return {**usual, **values}


def _write(path: Path, table: Table, rows: list[dict[str, object]], batch_rows: int) -> Path:
    """A stream whose batches have so many rows."""
    with pa.ipc.new_stream(path, table.schema) as writer:
        for start in range(0, len(rows), batch_rows):
            writer.write_batch(pa.RecordBatch.from_pylist(rows[start : start + batch_rows], table.schema))
    return path


@pytest.mark.parametrize("seed", range(20))
def test_rows_are_merged_as_if_sorted_at_once(tmp_path: Path, seed: int) -> None:
    """Many rows of one instant, empty parts, and batches of one row among them."""
    chance = random.Random(seed)
    parts = []
    for part in range(3):
        times = sorted(chance.choices(range(chance.choice([1, 20, 10_000])), k=chance.choice([0, 1, 300])))
        parts.append([_row(ARRIVALS, time_ns=at, payload_bytes=part, tuple_id=n % 5) for n, at in enumerate(times)])
    paths = [
        _write(tmp_path / str(part), ARRIVALS, rows, chance.choice([1, 7, 1000])) for part, rows in enumerate(parts)
    ]
    records._write_in_order(ARRIVALS, paths, NUMBERS, tmp_path / "merged")
    expected = sorted((row for rows in parts for row in rows), key=lambda row: cast(int, row["time_ns"]))
    assert _rows(tmp_path / "merged") == expected


def test_packets_are_in_the_order_in_which_their_fate_was_known(tmp_path: Path) -> None:
    parts = [
        [_row(PACKETS, enqueue_ns=1, dequeue_ns=5), _row(PACKETS, enqueue_ns=4), _row(PACKETS, enqueue_ns=5)],
        [
            _row(PACKETS, enqueue_ns=2, drop_ns=3),
            _row(PACKETS, enqueue_ns=3, dequeue_ns=9),
            _row(PACKETS, enqueue_ns=6),
        ],
    ]
    paths = [_write(tmp_path / str(part), PACKETS, rows, 2) for part, rows in enumerate(parts)]
    records._write_in_order(PACKETS, paths, NUMBERS[:2], tmp_path / "merged")
    assert [row["enqueue_ns"] for row in _rows(tmp_path / "merged")] == [2, 1, 3, 4, 5, 6]


def test_what_is_on_the_way_between_parts_is_counted_once(tmp_path: Path) -> None:
    sent = _row(WIRES, interface_index=11, sent_pkts=10, lost_pkts=1, queued_pkts=9)
    arrived = _row(WIRES, interface_index=11, delivered_pkts=7, queued_pkts=2**64 - 7)
    other = _row(WIRES, interface_index=12, sent_pkts=3, delivered_pkts=3)
    for part, rows in enumerate(([sent], [other, arrived])):
        write_stream(tmp_path / str(part), WIRES, cast(list[Row], rows))
    records._write_sums(WIRES, [tmp_path / "0", tmp_path / "1"], tmp_path / "merged")
    merged = {row["interface_index"]: row for row in _rows(tmp_path / "merged")}
    assert (merged[11]["sent_pkts"], merged[11]["delivered_pkts"], merged[11]["queued_pkts"]) == (10, 7, 2)
    assert merged[12] == other


def test_parts_draw_different_numbers() -> None:
    """Two BBR flows would otherwise probe at the same time, because their kernels draw the same numbers."""
    seeds = {seed_of_part(seed, part) for seed in range(1, 21) for part in range(16)}
    assert len(seeds) == 20 * 16
    assert [seed_of_part(seed, 0) for seed in (1, 2, 3)] == [1, 2, 3]
