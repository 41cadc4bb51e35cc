"""Reading the files that a scenario is made of: whatever they turn out to be, it comes to an end."""

import stat
from collections.abc import Callable, Mapping
from pathlib import Path

FolderOf = Callable[[str], Path]
"""The folder in which a file is looked for that a scenario, or the command line, names so."""


def folder_in(context: Mapping[str, FolderOf] | None, place: str) -> Path:
    """The folder for `place` by the context of a validation, which `Source.context` makes."""
    return context["folder_of"](place) if context else Path()


def read_file(path: Path, size: int) -> bytes:
    """The content of a file, and one byte more than `size` of one that is larger. Raises OSError, ValueError.

    A device or a pipe may never end, or never begin; so may what looks like a file in /proc, but has no size.
    """
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        raise ValueError("it is not a file")
    if found.st_size == 0:
        return b""
    with path.open("rb") as file:
        return file.read(size + 1)
