"""Writes files completely or not at all; reads regular files of a bounded size, from any source."""

import json
import os
import stat
import tempfile
from collections.abc import Callable
from io import BufferedReader
from pathlib import Path
from typing import Any

from netwarp.store.errors import StoreError, store_errors
from netwarp.values.json_values import Json

MAX_DOCUMENT_BYTES = 256 << 20
"""The largest file that is read into memory as a whole; a plan with the most runs takes half of it."""
MAX_JSON_SIGNS = 10_000_000
"""The most brackets and commas of a JSON document, a bound for its values, each of about 100 bytes of memory."""
_SPARSE_BYTES = 1 << 30
_SPARSE_SHARE = 1000


_LITTLE_BYTES = 1 << 20


def is_full(directory: Path) -> bool:
    """Whether the file system of a directory has less than 1 MiB left for this user, or no further file."""
    try:
        room = os.statvfs(directory)
    except OSError:
        return False
    return room.f_bavail * room.f_frsize < _LITTLE_BYTES or (room.f_files > 0 and room.f_favail == 0)


def write_atomic(path: Path, write: Callable[[Path], None]) -> None:
    """Let `write` fill a temporary file beside `path`, flush it to disk, and rename it to `path`.

    A reader sees the old file or the new one, never part of one.
    Raises StoreError if the directory cannot be written or the disk is full; no temporary file stays behind.
    """
    with store_errors(path, "write"):
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
        temporary = Path(name)
        try:
            write(_textual(temporary, handle))
            with temporary.open("rb+") as file:
                os.fsync(file.fileno())
                os.fchmod(file.fileno(), 0o666 & ~_umask())
            temporary.replace(path)
        finally:
            os.close(handle)
            temporary.unlink(missing_ok=True)


def _textual(path: Path, handle: int) -> Path:
    """The path of an open file; another path of the same file if this one is not text, since polars takes only text."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return Path(f"/proc/self/fd/{handle}")
    return path


def write_text(path: Path, text: str) -> None:
    """Write `text` as UTF-8, atomically. Raises StoreError."""
    write_atomic(path, lambda temporary: _write_bytes(temporary, text.encode()))


def write_json(path: Path, value: Any) -> None:
    """Write `value` as indented JSON in the order given, atomically. Raises StoreError."""
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    # A lone surrogate, to which bytes of a path may be decoded, stays an escape in JSON.
    write_bytes(path, text.encode("utf-8", "backslashreplace"))


def require_regular(path: Path) -> None:
    """Raise StoreError if `path` exists and is not a regular file, or is one that cannot be read to its end.

    Reading a pipe or a device may never begin or never end; reading a file with a hole of terabytes takes too long.
    """
    with store_errors(path, "read"):
        _refuse_odd(path, path.stat())


def open_regular(path: Path) -> BufferedReader:
    """Open a file for reading. Raises StoreError as `require_regular`, or if it is missing."""
    with store_errors(path, "read"):
        # O_NONBLOCK: do not wait for the other end of a pipe; it has no effect on regular files.
        file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
    try:
        _refuse_odd(path, os.fstat(file.fileno()))
    except StoreError:
        file.close()
        raise
    return file


def _refuse_odd(path: Path, facts: os.stat_result) -> None:
    if stat.S_ISDIR(facts.st_mode):
        raise StoreError(f"cannot read {path}: it is a directory, where a file was expected")
    if not stat.S_ISREG(facts.st_mode):
        raise StoreError(f"cannot read {path}: it is a device or a pipe, where a file was expected")
    held = facts.st_blocks * 512
    if facts.st_size > _SPARSE_BYTES and held * _SPARSE_SHARE < facts.st_size:
        raise StoreError(f"cannot read {path}: it claims {facts.st_size:,} bytes and holds {held:,}; it is damaged")


def read_content(path: Path, max_bytes: int = MAX_DOCUMENT_BYTES) -> bytes:
    """The content of a regular file of at most `max_bytes`. Raises StoreError."""
    with open_regular(path) as file, store_errors(path, "read"):
        # Some files of /proc never end, and claim to be empty.
        content = file.read(max_bytes + 1) if os.fstat(file.fileno()).st_size else b""
    if len(content) > max_bytes:
        raise StoreError(f"cannot read {path}: it is larger than {max_bytes >> 20} MiB, the maximum for such a file")
    return content


def read_text(path: Path) -> str:
    """The content of a regular file of text. Raises StoreError, also if it is not UTF-8."""
    try:
        return read_content(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise StoreError(f"cannot read {path}: it is not text in UTF-8 (byte {error.start})") from None


def read_json(path: Path) -> dict[str, Json]:
    """Read a JSON object. Raises StoreError if it is missing, not JSON, or not an object."""
    content = read_content(path)
    if sum(content.count(sign) for sign in (b"[", b"{", b",")) > MAX_JSON_SIGNS:
        raise StoreError(f"cannot read {path}: it has more than {MAX_JSON_SIGNS:,} values, the maximum")
    try:
        value = json.loads(content.decode("utf-8"), parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise StoreError(f"cannot read {path}: it is not JSON (line {error.lineno}: {error.msg})") from error
    except (ValueError, RecursionError) as error:
        raise StoreError(f"cannot read {path}: it is not valid JSON ({error})") from error
    if not isinstance(value, dict):
        raise StoreError(f"cannot read {path}: a JSON object was expected")
    return value


def write_bytes(path: Path, content: bytes) -> None:
    """Write `content`, atomically. Raises StoreError."""
    write_atomic(path, lambda temporary: _write_bytes(temporary, content))


def inside(folder: Path, name: str) -> Path:
    """The path of a file within a folder. Raises StoreError if the name leads out of it."""
    path = folder / name
    if Path(name).is_absolute() or not path.resolve().is_relative_to(folder.resolve()):
        raise StoreError(f"cannot read {folder}: it names a file outside itself ({name[:100]})")
    return path


def make_folder(folder: Path) -> Path:
    """Make a folder of a result if it is missing, and return it. Raises StoreError if it is a symbolic link.

    A result may come from someone else: through a link in it, files written here would replace files elsewhere.
    """
    with store_errors(folder, "create"):
        folder.mkdir(parents=True, exist_ok=True)
    if folder.is_symlink():
        raise StoreError(f"cannot write into {folder}: it is a symbolic link; remove it, or copy what it points to")
    return folder


def _write_bytes(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a JSON number")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
