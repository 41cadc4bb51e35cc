"""The kernel source that kernels are built from: Debian's package `linux-source-6.12`."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from netwarp.kernels.errors import SourceMissing

SERIES = "6.12"
"""The kernel series that the changes in `tree/` are written for."""

PACKAGED = Path("/usr/src")
"""Where distributions put their packaged kernel source."""

_NAME = re.compile(r"linux-source-(?P<version>\d+(?:\.\d+)*)\.tar\.xz$")
_MEMORY = "sources.json"


@dataclass(frozen=True)
class Source:
    """A kernel source archive: its path and the SHA-256 of its bytes (hex)."""

    path: Path
    digest: str


def find_source(
    argument: Path | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    packaged: Path = PACKAGED,
) -> Path:
    """Return the source archive: the argument, else NETWARP_KERNEL_SOURCE, else the newest packaged 6.12.

    Raises `SourceMissing` when what was asked for is not a file, or nothing is packaged.
    """
    environ = os.environ if environ is None else environ
    named = argument or (Path(text) if (text := environ.get("NETWARP_KERNEL_SOURCE")) else None)
    if named is not None:
        if not named.is_file():
            origin = "as the argument" if argument else "by NETWARP_KERNEL_SOURCE"
            raise SourceMissing(f"The kernel source {named}, named {origin}, is not a file.")
        return named.absolute()
    found = [(version, path) for path in packaged.glob("linux-source-*.tar.xz") if (version := _version(path))]
    if not found:
        raise SourceMissing(
            f"No kernel source {packaged}/linux-source-{SERIES}*.tar.xz: the package is not installed. "
            f"Install it with `apt-get install linux-source-{SERIES}`, or set NETWARP_KERNEL_SOURCE "
            "to an archive of that series."
        )
    return max(found)[1]


def read_source(path: Path, cache: Path) -> Source:
    """Return the archive with its digest, which `cache` remembers by path, size and modification time."""
    status = path.stat()
    name = f"{path}|{status.st_size}|{status.st_mtime_ns}"
    memory = cache / _MEMORY
    known = _remembered(memory)
    if name not in known:
        with path.open("rb") as file:
            known[name] = hashlib.file_digest(file, "sha256").hexdigest()
        _remember(memory, known)
    return Source(path, known[name])


def _version(path: Path) -> tuple[int, ...] | None:
    match = _NAME.search(path.name)
    if match is None:
        return None
    version = tuple(int(part) for part in match["version"].split("."))
    return version if version[:2] == tuple(int(part) for part in SERIES.split(".")) else None


def _remembered(memory: Path) -> dict[str, str]:
    try:
        known = json.loads(memory.read_text())
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def _remember(memory: Path, known: dict[str, str]) -> None:
    # Another user's shared cache cannot be written; the digest is then computed again each time.
    fresh = memory.with_name(f"{memory.name}.{os.getpid()}")
    with contextlib.suppress(OSError):
        memory.parent.mkdir(parents=True, exist_ok=True)
        fresh.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")
        fresh.replace(memory)
