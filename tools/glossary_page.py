"""The table of docs/glossary.md that has netwarp's own terms: STYLE.md states them."""

from __future__ import annotations

from pathlib import Path

from tools.marked import with_part

ROOT = Path(__file__).parents[1]
_BEGIN = "<!-- The table is made by `make generate` from STYLE.md. -->\n"
_END = "<!-- End of the table. -->"
_SECTION = "\n## One term for one thing\n"


def markdown() -> str:
    """The page with its table as STYLE.md has it."""
    return with_part(ROOT / "docs/glossary.md", _BEGIN, _table(), _END)


def _table() -> str:
    section = (ROOT / "STYLE.md").read_text().partition(_SECTION)[2]
    lines = section.partition("\n\n")[0].splitlines()
    return "".join(f"{line}\n" for line in lines if line.startswith("|"))
