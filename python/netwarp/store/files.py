"""Writing files whole or not at all."""

import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from netwarp.store.errors import StoreError, speaking


def write_atomic(path: Path, write: Callable[[Path], None]) -> None:
    """Let `write` fill a temporary file beside `path`, flush it to disk, and rename it to `path`.

    A reader sees the old file or the new one, never a part.
    Raises StoreError if the directory cannot be written or the disk is full; no temporary file stays behind.
    """
    with speaking(path, "write"):
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
        os.close(handle)
        temporary = Path(name)
        try:
            write(temporary)
            with temporary.open("rb+") as file:
                os.fsync(file.fileno())
                os.fchmod(file.fileno(), 0o666 & ~_umask())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write `text` as UTF-8, atomically. Raises StoreError."""
    write_atomic(path, lambda temporary: _write_bytes(temporary, text.encode()))


def write_json(path: Path, value: Any) -> None:
    """Write `value` as indented JSON in the order given, atomically. Raises StoreError."""
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object. Raises StoreError if it is missing, not JSON, or not an object."""
    with speaking(path, "read"):
        content = path.read_bytes()
    try:
        value = json.loads(content.decode("utf-8"), parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise StoreError(f"cannot read {path}: it is not JSON (line {error.lineno}: {error.msg})") from error
    except (ValueError, RecursionError) as error:
        raise StoreError(f"cannot read {path}: it is not JSON that anyone wrote ({error})") from error
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
    """Make a folder of a result if it is not there; returns it. Raises StoreError if it is a symbolic link.

    A result may have been made by somebody else: a link in it would let what is written here replace files elsewhere.
    """
    with speaking(folder, "create"):
        folder.mkdir(parents=True, exist_ok=True)
    if folder.is_symlink():
        raise StoreError(f"cannot write into {folder}: it is a symbolic link; remove it, or copy what it points to")
    return folder


def _write_bytes(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is no number of JSON")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
