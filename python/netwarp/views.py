"""What particular studies write beyond the tables and figures that every result gets.

A study offers views (`netwarp.studies`); a scenario names those that it wants (`views = ["NAME"]`). A view returns the
files that it wrote: tables into a folder of its name in the result, figures into `plots/`. What it found goes into
`findings.csv` among its tables (`netwarp.store.findings`), and is told after the run.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from netwarp.store.result import ResultDir
from netwarp.studies import registry


class View(Protocol):
    """What a study refers to as a view."""

    def __call__(self, result: ResultDir, *, figures: bool = True) -> list[Path]:
        """Write the tables of this view, and its figures if asked to, from the result's records; returns the files.

        Runs that are missing or failed are left out, and so are figures with nothing in them. Raises StoreError.
        """


def write_views(result: ResultDir, names: Sequence[str], *, figures: bool = True) -> list[Path]:
    """Write the views of these names (as a scenario names them); returns the files in order.

    Raises StoreError, StudyError.
    """
    return [path for name in names for path in _view(name)(result, figures=figures)]


def _view(name: str) -> View:
    view: View = registry.load("views", name)
    return view
