"""Reads the files that a scenario names; reading always ends, for any kind of file."""

import hashlib
import stat
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

FolderOf = Callable[[str], Path]
"""Name of a file in a scenario or on the command line → the folder in which it is searched."""


@dataclass(frozen=True)
class Places:
    """The folders in which a scenario's files are searched, and the texts that the user gave on the command line."""

    folder_of: FolderOf
    given: Collection[str] = ()


Context = Mapping[str, Places]
"""The context of a validation, which `Source.context` makes."""


def folder_in(context: Context | None, place: str) -> Path:
    """The folder for `place` from the context of a validation."""
    return context["places"].folder_of(place) if context else Path()


def is_given_in(context: Context | None, text: str) -> bool:
    """Whether the user gave this text on the command line."""
    return context is not None and text in context["places"].given


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


KEPT = "traces"
"""The folder of a result with the data files that its scenario names."""
MAX_LISTED_BYTES = 16 * 2**20


def kept_name(value: str) -> str:
    """The name under which a result keeps the file that a scenario calls `value`: its file name and, if it names a
    folder, a few digits of a hash of the whole name, since two folders may hold files of the same name."""
    path = Path(value)
    if path.name == value:
        return value
    return f"{path.stem}-{hashlib.sha256(value.encode()).hexdigest()[:8]}{path.suffix}"


def find_file(value: str, folder: Path) -> Path:
    """The file of this name in `folder`, or the copy that a result there keeps; the former if there is neither."""
    path, kept = folder / value, folder / KEPT / kept_name(value)
    return kept if kept.is_file() and not path.is_file() else path


def read_listed(value: str, path: Path, columns: Sequence[str]) -> list[tuple[int, list[str]]]:
    """The rows of a CSV file with exactly these columns: the number of the line, and its cells. Lines that begin with #
    are comments. `value` is its name in messages. Raises ValueError with a sentence."""
    try:
        content = read_file(path, MAX_LISTED_BYTES)
        lines = content.decode("utf-8-sig").splitlines()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise ValueError(f'the file "{value[:200]}" cannot be read ({why})') from None
    if len(content) > MAX_LISTED_BYTES:
        raise ValueError(f'the file "{value}" is larger than {MAX_LISTED_BYTES // 2**20} MiB')
    rows = [(number, [cell.strip() for cell in line.split(",")]) for number, line in enumerate(lines, start=1)]
    rows = [(number, cells) for number, cells in rows if any(cells) and not cells[0].startswith("#")]
    if not rows or rows[0][1] != list(columns):
        raise ValueError(f'{value}: the first line must be the header "{",".join(columns)}"')
    return rows[1:]
