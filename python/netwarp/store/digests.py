"""Digests of the files that must be identical when a run is repeated."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from netwarp.store.errors import StoreError, store_errors
from netwarp.store.files import inside, open_regular, read_json, write_json
from netwarp.store.schemas import TABLES

FILE_NAME = "digests.json"
_FILES = ("run.json", *(table.file for table in TABLES.values()))
_PATTERNS = ("captures/**/*", "iperf3-*.json", "*.out", "*.err", "files/**/*")


@dataclass(frozen=True)
class Difference:
    """One file that differs between two runs: `kind` is `changed`, `missing` (from the second) or `added`."""

    file: str
    kind: str

    def __str__(self) -> str:
        """The difference as a line of text."""
        return f"{self.file}: {self.kind}"


def digest_run(run: Path) -> dict[str, str]:
    """SHA-256, in hex, of each deterministic file of a run directory that exists, by its relative path, sorted.

    status.json and console.log (wall-clock facts) and metrics.parquet (made from records) are left out. Raises
    StoreError.
    """
    paths = [run / name for name in _FILES if (run / name).is_file()]
    paths += [path for pattern in _PATTERNS for path in run.glob(pattern) if path.is_file()]
    return {path.relative_to(run).as_posix(): digest_file(path) for path in sorted(paths)}


def digest_file(path: Path) -> str:
    """SHA-256 of one file, in hex, in constant memory. Raises StoreError."""
    with open_regular(path) as file, store_errors(path, "read"):
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_digests(run: Path) -> dict[str, str]:
    """Write the digests of a run directory into its `digests.json`, and return them. Raises StoreError."""
    digests = digest_run(run)
    write_json(run / FILE_NAME, digests)
    return digests


def read_digests(run: Path) -> dict[str, str]:
    """The digests written when the run was made. Raises StoreError if there are none."""
    found = read_json(run / FILE_NAME)
    digests = {name: value for name, value in found.items() if isinstance(value, str)}
    if len(digests) < len(found):
        raise StoreError(f"cannot read {run / FILE_NAME}: a digest in it is not text")
    return digests


def compare_digests(first: Mapping[str, str], second: Mapping[str, str]) -> list[Difference]:
    """The files that differ, in order of name; empty if the two runs are identical to the byte."""
    differences = []
    for file in sorted(first.keys() | second.keys()):
        if first.get(file) != second.get(file):
            kind = "missing" if file not in second else "added" if file not in first else "changed"
            differences.append(Difference(file, kind))
    return differences


def changed_files(run: Path) -> list[str]:
    """The files of a run that changed since it was made, by their digests, in order of name.

    A missing file is not among them: records may be deleted to save space, and their readers report it. Empty for a
    run without `digests.json` (one that failed, or of an old version). Raises StoreError.
    """
    if not (run / FILE_NAME).exists():
        return []
    written = read_digests(run)
    return [
        name for name in sorted(written) if (run / name).is_file() and digest_file(inside(run, name)) != written[name]
    ]
