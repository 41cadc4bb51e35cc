"""Imports measurements of other scripts as a result, which all commands on results take.

Studies offer importers (`netwarp.studies`), each of which reads the files of some scripts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from netwarp.store.errors import LayoutError
from netwarp.studies import registry


@dataclass(frozen=True)
class Note:
    """A note on a file of a run: the reason for which it is left out, or something unusual."""

    run: str
    file: str
    what: str
    left_out: bool

    def __str__(self) -> str:
        """The note as a line of text."""
        return f"{self.run}: {self.file} {'is left out: ' if self.left_out else ''}{self.what}"


@dataclass(frozen=True)
class Imported:
    """An imported result: its directory, its number of runs, and the notes on their files."""

    path: Path
    runs: int
    notes: tuple[Note, ...]


class Importer(Protocol):
    """The function to which a study refers as an importer."""

    def __call__(self, directory: Path, output: Path | None = None) -> Imported:
        """Make a result of the measurements in `directory`, without metrics, which the analysis computes.

        Raises LayoutError if the directory does not hold such measurements; StoreError.
        """


def import_result(directory: Path, output: Path | None = None) -> Imported:
    """Make a result of the measurements in `directory`, with the first importer that reads its files.

    Raises LayoutError if none does; StoreError, StudyError.
    """
    importers: Sequence[Importer] = list(registry.importers())
    reasons: list[str] = []
    for importer in importers:
        try:
            return importer(directory, output)
        except LayoutError as error:
            reasons.append(str(error))
    none = "no installed study imports measurements"
    raise LayoutError("; ".join([*dict.fromkeys(reasons), *registry.unloadable()]) or none)
