"""Tables of records and their columns: name, type, unit, meaning."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]

_TYPES: dict[str, pa.DataType] = {
    "i32": pa.int32(),
    "i64": pa.int64(),
    "u8": pa.uint8(),
    "u16": pa.uint16(),
    "u32": pa.uint32(),
    "u64": pa.uint64(),
    "f64": pa.float64(),
    "bool": pa.bool_(),
    "utf8": pa.string(),
}


@dataclass(frozen=True)
class Column:
    """One column; `type` is `u32`, `i64` …, with a `?` if a value may be absent."""

    name: str
    type: str
    unit: str
    meaning: str

    @property
    def nullable(self) -> bool:
        """Whether a value may be absent."""
        return self.type.endswith("?")

    @property
    def arrow_type(self) -> pa.DataType:
        """The Arrow type."""
        return _TYPES[self.type.rstrip("?")]

    @property
    def field(self) -> pa.Field:
        """The Arrow field; its metadata holds `unit` and `meaning`."""
        return pa.field(self.name, self.arrow_type, self.nullable, {"unit": self.unit, "meaning": self.meaning})


def column(name: str, type_: str, unit: str, meaning: str) -> Column:
    """One column of a table. Raises ValueError for an unknown type."""
    if type_.rstrip("?") not in _TYPES:
        raise ValueError(f"column {name}: unknown type {type_}")
    return Column(name, type_, unit, meaning)


@dataclass(frozen=True)
class Table:
    """One kind of record: a file `<name>.arrows` in a run directory, an Arrow IPC stream."""

    name: str
    row: str
    source: str
    columns: tuple[Column, ...]
    note: str = ""

    @property
    def file(self) -> str:
        """The file's name in the run directory."""
        return f"{self.name}.arrows"

    @cached_property
    def schema(self) -> pa.Schema:
        """The Arrow schema, with each column's unit and meaning as field metadata."""
        return pa.schema([c.field for c in self.columns])


def listed_codes(meanings: Mapping[Any, str]) -> str:
    """The codes of a column with their meanings, as the end of its own."""
    return ", ".join(f"{int(code)} {meaning}" for code, meaning in meanings.items())


TIME = column("time_ns", "i64", "ns", "when, from t0")
TUPLE_KEY = column("tuple_id", "u32", "", "key into tuples.arrows")
INTERFACE = column("interface_index", "u32", "", "index of the interface, unique in the whole lab")
