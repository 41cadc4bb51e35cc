"""What particular studies write beyond the tables and figures that every result gets.

A view is a module or package of this folder; a scenario names those it wants (`views = ["three-node"]`). It has
`write(result, *, figures)`, which returns the files that it wrote: tables into the result's folder of its name
(`three-node/`), figures into `plots/`. What it found about the study goes into `findings.csv` among its tables
(`netwarp.store.findings`), and is told after the run.
"""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from netwarp.store.result import ResultDir


class View(Protocol):
    """A module of this folder."""

    def write(self, result: ResultDir, *, figures: bool = True) -> list[Path]:
        """Write the tables of this view, and its figures if asked to, from the result's records; returns the files.

        Runs that are missing or failed are left out, and so are figures with nothing in them. Raises StoreError.
        """


def write_views(result: ResultDir, names: Sequence[str], *, figures: bool = True) -> list[Path]:
    """Write the views of these names (as a scenario names them); returns the files in order. Raises StoreError."""
    return [path for name in names for path in _view(name).write(result, figures=figures)]


def _view(name: str) -> View:
    # Lazily: a view may draw, and matplotlib takes longer to import than a short run takes to run.
    return cast(View, import_module(f"netwarp.views.{name.replace('-', '_')}"))
