"""The tables: names, units and meanings of their columns."""

import pytest
from netwarp.analysis.catalogue.entry import Entry
from netwarp.analysis.catalogue.metrics import CATALOGUE
from netwarp.store.schemas import TABLES

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
"""The unit that a word in the name of a column or metric implies."""


def unit_of(name: str) -> str | None:
    """The unit that a name implies; None if it implies none."""
    return next((UNITS[word] for word in name.split("_") if word in UNITS), None)


def test_every_column_has_a_meaning_and_a_unit_in_its_name() -> None:
    for table in TABLES.values():
        assert len({c.name for c in table.columns}) == len(table.columns)
        for column in table.columns:
            assert column.meaning
            if column.unit in ("ns", "µs", "ms", "bit/s") or unit_of(column.name):
                assert unit_of(column.name) == column.unit, (table.name, column.name)


@pytest.mark.parametrize("entry", [one for entries in CATALOGUE.values() for one in entries], ids=lambda one: one.stem)
def test_the_name_of_a_metric_tells_its_unit(entry: Entry) -> None:
    for name in entry.names:
        if unit := unit_of(name.removesuffix("_per_s")):
            assert unit == entry.axis.unit, name
