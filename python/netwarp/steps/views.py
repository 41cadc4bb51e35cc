"""Views: the outputs of studies beyond the tables and figures that every result gets.

A study offers views (`netwarp.studies`); a scenario names those that it wants (`views = ["NAME"]`). A view returns the
files that it wrote: tables in a folder of its name in the result, figures in `plots/`. Its findings are in
`findings.csv` among its tables (`netwarp.store.findings`), and are printed after the run.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from netwarp.store.result import ResultDir
from netwarp.studies import registry


class View(Protocol):
    """The function to which a study refers as a view."""

    def __call__(self, result: ResultDir, *, figures: bool = True) -> list[Path]:
        """Write the tables of this view, and with `figures` its figures, from the records; return the files.

        Missing and failed runs are left out, and so are empty figures. Raises StoreError.
        """


def write_views(result: ResultDir, names: Sequence[str], *, figures: bool = True) -> list[Path]:
    """Write the views of these names (as a scenario names them); return the files in order.

    Raises StoreError, StudyError.
    """
    return [path for name in names for path in _view(name)(result, figures=figures)]


def _view(name: str) -> View:
    view: View = registry.load("views", name)
    return view
