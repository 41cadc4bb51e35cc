"""Rows that readers iterate over have the columns of their tables, and values of their types."""

from __future__ import annotations

from typing import Any, get_type_hints

import pytest
from netwarp.store.rows import AccountRow, DeviceRow, DisciplineRow, NamespaceRow
from netwarp.store.schemas import TABLES

TYPES = {"utf8": str, "bool": bool, "f64": float, **dict.fromkeys(("u8", "u32", "u64", "i64"), int)}


@pytest.mark.parametrize(
    ("row", "table"),
    [(AccountRow, "flows"), (NamespaceRow, "namespaces"), (DeviceRow, "devices"), (DisciplineRow, "disciplines")],
)
def test_a_row_has_the_columns_of_its_table(row: Any, table: str) -> None:
    columns = {column.name: TYPES[column.type.rstrip("?")] for column in TABLES[table].columns}
    absent = {column.name for column in TABLES[table].columns if column.nullable}
    assert get_type_hints(row) == {name: kind | None if name in absent else kind for name, kind in columns.items()}
