"""Reads the files that a scenario names; reading always ends, for any kind of file."""

import stat
from collections.abc import Callable, Mapping
from pathlib import Path

FolderOf = Callable[[str], Path]
"""Name of a file in a scenario or on the command line → the folder in which it is searched."""


def folder_in(context: Mapping[str, FolderOf] | None, place: str) -> Path:
    """The folder for `place` from the context of a validation, which `Source.context` makes."""
    return context["folder_of"](place) if context else Path()


def read_file(path: Path, size: int) -> bytes:
    """The content of a file, or its first `size` + 1 bytes if it is larger. Raises OSError, ValueError.

    Only regular files are read: reading a device, a pipe, or a file in /proc without a size may never begin or end.
    """
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        raise ValueError("it is not a regular file")
    if found.st_size == 0:
        return b""
    with path.open("rb") as file:
        return file.read(size + 1)
