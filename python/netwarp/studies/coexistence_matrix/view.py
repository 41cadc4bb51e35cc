"""The shares of two flows on one link: each congestion control beside each other one, as a table and as two maps.

Writes `coexistence-matrix/matrix.csv`, one row for each pair, with the share of the first flow and the harm to it, and
a figure of both. A scenario for it sweeps `flows.A.cc` and `flows.B.cc` of two flows, and the harm needs a run of each
point without the second flow (`flows.B.count` 0).
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from netwarp.store.errors import StoreError
from netwarp.store.files import make_folder, write_atomic
from netwarp.store.result import ResultDir
from netwarp.studies.coexistence_matrix.analysis import pairs
from netwarp.studies.coexistence_matrix.needs import AXES, swept_controls

FOLDER = "coexistence-matrix"


def write(result: ResultDir, *, figures: bool = True) -> list[Path]:
    """Write the table and the figure. Raises StoreError unless the congestion controls of two flows are swept."""
    axes = swept_controls(result.axes)
    if len(axes) < 2:
        raise StoreError(AXES)
    rows = list(pairs(result.summary(), axes[0], axes[1]))
    folder = make_folder(result.path / FOLDER)
    table = pl.DataFrame([vars(row) for row in rows], infer_schema_length=None)
    write_atomic(folder / "matrix.csv", table.write_csv)
    written = [folder / "matrix.csv"]
    if figures and rows:
        # Imported lazily: matplotlib takes long to load, and tables do not need it.
        from netwarp.studies.coexistence_matrix.figure import draw  # noqa: PLC0415

        written += draw(rows, result, axes, result.plots / FOLDER)
    return written
