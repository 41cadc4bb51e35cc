"""Measurements of other scripts → a result, which every command on results takes as one of its own.

Studies offer importers (`netwarp.studies`), each of which knows the files of some scripts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from netwarp.store.errors import LayoutError
from netwarp.studies import registry


@dataclass(frozen=True)
class Note:
    """Something about a file of a run: that it is left out and why, or what is unusual about it."""

    run: str
    file: str
    what: str
    left_out: bool

    def __str__(self) -> str:
        """As a line for a person."""
        return f"{self.run}: {self.file} {'is left out: ' if self.left_out else ''}{self.what}"


@dataclass(frozen=True)
class Imported:
    """Where the result is, how many runs it has, and the notes about their files."""

    path: Path
    runs: int
    notes: tuple[Note, ...]


class Importer(Protocol):
    """What a study refers to as an importer."""

    def __call__(self, directory: Path, output: Path | None = None) -> Imported:
        """Make a result of the measurements in `directory`, without metrics, which the analysis computes.

        Raises LayoutError if the directory does not hold what it reads; StoreError.
        """


def import_result(directory: Path, output: Path | None = None) -> Imported:
    """Make a result of what is in `directory`, by the first importer that knows its files.

    Raises LayoutError if none does; StoreError, StudyError.
    """
    importers: Sequence[Importer] = list(registry.importers())
    reasons: list[str] = []
    for importer in importers:
        try:
            return importer(directory, output)
        except LayoutError as error:
            reasons.append(str(error))
    none = "no study that is installed imports measurements"
    raise LayoutError("; ".join([*dict.fromkeys(reasons), *registry.unloadable()]) or none)
