"""File formats of figures."""

from netwarp.common.words import did_you_mean
from netwarp.store.errors import SelectionError

KNOWN_FORMATS = ("png", "svg", "pdf")
FORMATS = ("png", "svg")
"""The default formats."""


def formats_of(text: str) -> tuple[str, ...]:
    """Parse formats such as `png,svg`. Raises SelectionError for an unknown one."""
    formats = tuple(dict.fromkeys(part.strip().lower() for part in text.split(",") if part.strip()))
    for one in formats:
        if one not in KNOWN_FORMATS:
            raise SelectionError(f'"{one}" is not a format of figures{did_you_mean(one, KNOWN_FORMATS)}')
    if not formats:
        raise SelectionError(f"name at least one format of {', '.join(KNOWN_FORMATS)}")
    return formats
