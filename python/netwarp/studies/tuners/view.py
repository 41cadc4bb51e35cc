"""Tuners compared with the default, for scenarios that sweep `run.tuner`.

Writes `tuners/tuners.csv`, one row for each tuner, metric, group of flows and point of the other axes, with the
default's value and the ratio to it; and a figure of them.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from netwarp.store.errors import StoreError
from netwarp.store.files import make_folder, write_atomic
from netwarp.store.result import ResultDir
from netwarp.studies.tuners.analysis import compare_tuners, values_of
from netwarp.studies.tuners.needs import AXIS, MISSING

FOLDER = "tuners"


def write(result: ResultDir, *, figures: bool = True) -> list[Path]:
    """Write the table and the figure. Raises StoreError unless `run.tuner` is an axis."""
    if AXIS not in result.axes:
        raise StoreError(MISSING)
    rows = list(compare_tuners(values_of(result)))
    folder = make_folder(result.path / FOLDER)
    table = [{**vars(row), "ratio": row.ratio} for row in rows]
    write_atomic(folder / "tuners.csv", pl.DataFrame(table, infer_schema_length=None).write_csv)
    written = [folder / "tuners.csv"]
    if figures and rows:
        # Imported lazily: matplotlib takes long to load, and tables do not need it.
        from netwarp.studies.tuners.figure import draw  # noqa: PLC0415

        written += draw(rows, str(result.plan.get("name", "")), result.plots / "tuners")
    return written
