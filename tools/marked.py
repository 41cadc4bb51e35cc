"""Pages of which `make generate` makes a part, between two marks, and people write the rest."""

from pathlib import Path


def with_part(page: Path, begin: str, part: str, end: str) -> str:
    """The page with this part between its marks."""
    before, found, rest = page.read_text().partition(begin)
    _, closed, after = rest.partition(end)
    return before + found + part + closed + after
