"""The table of docs/glossary.md that has netwarp's own terms: STYLE.md states them."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[1]
_BEGIN = "<!-- The table is made by `make generate` from STYLE.md. -->\n"
_END = "<!-- End of the table. -->"
_SECTION = "\n## One term for one thing\n"


def markdown() -> str:
    """The page with its table as STYLE.md has it."""
    before, begin, rest = (ROOT / "docs/glossary.md").read_text().partition(_BEGIN)
    _, end, after = rest.partition(_END)
    return before + begin + _table() + end + after


def _table() -> str:
    section = (ROOT / "STYLE.md").read_text().partition(_SECTION)[2]
    lines = section.partition("\n\n")[0].splitlines()
    return "".join(f"{line}\n" for line in lines if line.startswith("|"))
