"""The tables of a run directory as `records/src/tables.rs`: columns, rows, and their builders."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from netwarp.store.codes import FATES, PLAYBACK_STATES, QUIC_EVENTS, RATE_STATES, USAGES
from netwarp.store.schemas import CLOCKS, SOCKETS, TABLES
from netwarp.store.table import Column, Table

VALUES = {
    "i32": ("i32", "Int32"),
    "i64": ("i64", "Int64"),
    "u8": ("u8", "UInt8"),
    "u16": ("u16", "UInt16"),
    "u32": ("u32", "UInt32"),
    "u64": ("u64", "UInt64"),
    "f64": ("f64", "Float64"),
    "bool": ("bool", "Boolean"),
    "utf8": ("&'r str", "String"),
}
"""The type of a row's value and Arrow's builder, for each column type."""
CODES: Mapping[str, tuple[str, Mapping[Any, str]]] = {
    "fate": ("The fate of a packet in a queue (`packets.arrows`).", FATES),
    "usage": ("The use of a path that an over-use detector sees (`rate_control.arrows`).", USAGES),
    "playback_state": ("The state of a video's playback (`playback.arrows`).", PLAYBACK_STATES),
    "quic_event": ("An event of a QUIC sender (`quic_acks.arrows`).", QUIC_EVENTS),
    "rate_state": ("The state of a rate control (`rate_control.arrows`).", RATE_STATES),
}
"""The codes in columns, by the names of their modules."""


def source() -> str:
    """The file as it is committed."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield "//! The tables of a run directory. Made by `make generate` from `schemas.py` and `codes.py` in"
    yield "//! `python/netwarp/store/`."
    yield ""
    yield "use crate::table::{columns, tables};"
    yield ""
    for name, (about, codes) in CODES.items():
        yield f"/// {about}"
        yield f"pub mod {name} {{"
        for code, meaning in codes.items():
            yield f"    /// {meaning[0].upper()}{meaning[1:]}"
            yield f"    pub const {code.name}: u8 = {code.value};"
        yield "}"
        yield ""
    yield "tables! {"
    for table in TABLES.values():
        if table not in (SOCKETS, CLOCKS):  # netwarp itself writes the latter, and the former follows
            yield from _table(table, [_column(column) for column in table.columns])
    yield "}"
    yield ""
    # The decoder of tcp_info collects these column by column, and the monitor selects from them.
    yield "columns! {"
    yield from _table(SOCKETS, [_column(column) for column in SOCKETS.columns])
    yield "}"


def _table(table: Table, columns: list[str]) -> Iterator[str]:
    # A row with text borrows it.
    lifetime = "<'r>" if any("'r " in column for column in columns) and table is not SOCKETS else ""
    yield f"    /// `{table.file}`: {table.row} ({table.source})."
    yield f"    {table.name}{lifetime} {{"
    for column in columns:
        yield f"        {column}"
    yield "    }"


def _column(column: Column) -> str:
    value, builder = VALUES[column.type.rstrip("?")]
    value = f"Option<{value}>" if column.nullable else value
    unit, meaning = (json.dumps(text, ensure_ascii=False) for text in (column.unit, column.meaning))
    return f"{column.name}: {value} = {builder}Builder, {str(column.nullable).lower()}, {unit}, {meaning};"
