"""Writes every generated file of the repository; with `--check` it names those that are stale."""

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from netwarp.scenario.model.schema import scenario_schema

from tools import (
    commands_page,
    cost_page,
    figures_page,
    gallery_page,
    glossary_page,
    lab_page,
    man_page,
    metrics_page,
    options_page,
    recorder_layout,
    records_page,
    rust_constants,
    rust_lab,
    rust_queues,
    rust_tables,
    rust_wire,
    scenario_page,
    topologies_picture,
)

ROOT = Path(__file__).parents[1]

GENERATED: Mapping[str, Callable[[], str]] = {
    "agent/src/constants.rs": rust_constants.source,
    "agent/src/end.rs": rust_constants.end_source,
    "agent/src/guard/layout.rs": recorder_layout.source,
    "agent/src/record/queue_variables.rs": rust_queues.source,
    "records/src/tables.rs": rust_tables.source,
    "agent/src/lab/objects.rs": rust_lab.source,
    "agent/src/traffic/fields.rs": rust_lab.flows_source,
    "agent/src/wire.rs": rust_wire.source,
    "agent/testdata/lab.json": lab_page.example_text,
    "docs/commands.md": commands_page.markdown,
    "docs/cost.md": cost_page.markdown,
    "docs/figures.md": figures_page.markdown,
    "docs/flow-options.md": options_page.markdown,
    "docs/glossary.md": glossary_page.markdown,
    "docs/lab.md": lab_page.markdown,
    "docs/lab.schema.json": lab_page.schema_text,
    "docs/labs/README.md": gallery_page.markdown,
    "docs/metrics.md": metrics_page.markdown,
    "docs/records.md": records_page.markdown,
    "docs/scenario.md": scenario_page.markdown,
    "packaging/netwarp.data/data/share/man/man1/netwarp.1": man_page.source,
    "docs/topologies.svg": topologies_picture.svg,
    "docs/scenario.schema.json": lambda: json.dumps(scenario_schema(), indent=1, ensure_ascii=False) + "\n",
}
"""Each generated file, and the function that returns its text."""


def stale() -> list[str]:
    """The files that differ from those that their sources generate."""
    return [name for name, make in GENERATED.items() if _content(name) != make()]


def _content(name: str) -> str | None:
    path = ROOT / name
    return path.read_text() if path.is_file() else None


def main() -> int:
    """Write stale files; with `--check` name them, and return 1 if there are any."""
    found = stale()
    if "--check" in sys.argv[1:]:
        for name in found:
            print(f"{name} is not what its source makes of it; run: make generate", file=sys.stderr)
        return 1 if found else 0
    for name in found:
        (ROOT / name).write_text(GENERATED[name]())
        print(f"wrote {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
