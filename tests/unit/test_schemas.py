"""The tables: the page of records, and what ARCHITECTURE.md promises."""

import re
from pathlib import Path

import pytest
from netwarp.analysis.catalogue import CATALOGUE
from netwarp.plots.labels import metric_label
from netwarp.store.schemas import TABLES

ROOT = Path(__file__).parents[2]


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


UNITS = {
    "ns": "ns",
    "us": "µs",
    "ms": "ms",
    "s": "s",
    "bps": "bit/s",
    "mbps": "Mbit/s",
    "bytes": "bytes",
    "pkts": "packets",
    "pct": "%",
}
"""What a word in the name of a column or metric says of its unit."""


def unit_of(name: str) -> str | None:
    """The unit that a name tells; None if it tells none."""
    return next((UNITS[word] for word in name.split("_") if word in UNITS), None)


def test_every_column_has_a_meaning_and_a_unit_in_its_name() -> None:
    for table in TABLES.values():
        assert len({c.name for c in table.columns}) == len(table.columns)
        for column in table.columns:
            assert column.meaning
            if column.unit in ("ns", "µs", "ms", "bit/s") or unit_of(column.name):
                assert unit_of(column.name) == column.unit, (table.name, column.name)


@pytest.mark.parametrize("metric", sorted({n for entries in CATALOGUE.values() for e in entries for n in e.names}))
def test_figures_name_the_unit_that_a_metric_has(metric: str) -> None:
    """Figures write a metric's values as they are in the summary."""
    told = re.search(r"\(([^()]*)\)$", metric_label("flow", metric))
    if told and unit_of(metric):
        assert told[1] == unit_of(metric)
