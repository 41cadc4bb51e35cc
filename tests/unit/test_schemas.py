"""The tables: the page of records, and what ARCHITECTURE.md promises."""

import re
from pathlib import Path

import pytest
from netwarp.analysis.catalogue import CATALOGUE
from netwarp.plots.labels import metric_label
from netwarp.store.schemas import TABLES

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", TABLES)
def test_the_architecture_lists_the_columns_of_each_table_with_their_types(name: str) -> None:
    """All of them, in their order, and which may be absent. Of sockets it has those that are not tcp_info's."""
    lines = (ROOT / "ARCHITECTURE.md").read_text().splitlines()
    cells = next(line for line in lines if line.startswith(f"| `{name}.arrows`")).split("|")
    listed = re.sub(r"\([^)]*\)", "", cells[4].split("`")[1])
    columns = [f"{c.name} {c.type}" for c in TABLES[name].columns]
    if name == "sockets":
        columns = columns[: [c.name for c in TABLES[name].columns].index("state") + 1]
    assert [" ".join(entry.split()) for entry in listed.split(",")] == columns


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
