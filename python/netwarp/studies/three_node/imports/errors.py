"""Errors in imported files."""

from pathlib import Path

from netwarp.store.errors import StoreError


class UnreadableError(Exception):
    """A file that cannot be used; the message says why, as a clause: "it is empty"."""


def why_unreadable(path: Path, error: StoreError) -> str:
    """The reason for which a file could not be read, as such a clause."""
    return f"it cannot be read: {str(error).removeprefix(f'cannot read {path}: ')}"
