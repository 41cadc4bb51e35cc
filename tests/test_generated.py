"""Files that are made from the code are what the code makes; `make check` runs this, `make generate` writes them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from netwarp.analysis import catalogue
from netwarp.scenario import reference, scenario_schema
from netwarp.store import schemas

DOCS = Path(__file__).parents[1] / "docs"
GENERATED: dict[str, Callable[[], str]] = {
    "metrics.md": catalogue.markdown,
    "records.md": schemas.markdown,
    "scenario.md": reference.markdown,
    "scenario.schema.json": lambda: json.dumps(scenario_schema(), indent=1, ensure_ascii=False) + "\n",
}


@pytest.mark.parametrize("name", GENERATED)
def test_a_generated_file_is_up_to_date(name: str) -> None:
    assert (DOCS / name).read_text() == GENERATED[name](), "run: make generate"
