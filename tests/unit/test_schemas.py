"""The tables: the page of records, and what ARCHITECTURE.md promises."""

import re
from pathlib import Path

import pytest
from netwarp.store.schemas import TABLES, markdown

ROOT = Path(__file__).parents[2]


def test_the_page_of_records_is_up_to_date() -> None:
    assert (ROOT / "docs" / "records.md").read_text() == markdown(), (
        "run: .venv/bin/python -m netwarp.store.schemas > docs/records.md"
    )


@pytest.mark.parametrize("name", sorted(TABLES.keys() - {"sockets"}))
def test_tables_have_the_columns_of_the_contract(name: str) -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    row = next(line for line in text.splitlines() if line.startswith(f"| `{name}.arrows`"))
    promised = re.sub(r"\([^)]*\)", "", row.rsplit("`", 2)[1] if row.count("`") > 3 else row)
    words = [part.split() for part in promised.split(",")]
    columns = {c.name: c.type for c in TABLES[name].columns}
    for entry in words:
        assert entry[0] in columns
        if len(entry) > 1:
            assert columns[entry[0]].rstrip("?") == entry[1].rstrip("?"), entry


def test_every_column_has_a_meaning_and_a_unit_in_its_name() -> None:
    units = {"ns": "_ns", "µs": "_us", "ms": "_ms", "bit/s": "_bps"}
    for table in TABLES.values():
        assert len({c.name for c in table.columns}) == len(table.columns)
        for column in table.columns:
            assert column.meaning
            assert column.name.endswith(units.get(column.unit, ""))
