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
        text = path.read_text(encoding="utf-8")
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise StoreError(f"cannot read {path}: it is not JSON (line {error.lineno}: {error.msg})") from error
    if not isinstance(value, dict):
        raise StoreError(f"cannot read {path}: a JSON object was expected")
    return value


def _write_bytes(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
