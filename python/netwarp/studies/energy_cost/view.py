"""Energy for each delivered MB beside goodput, delay and fairness, for each congestion control and queue.

Writes `energy-cost/trade-off.csv`, one row for each point, and a figure. A scenario for it sweeps the congestion
control of a flow (`flows.NAME.cc`) and one more axis, and has models of energy (docs/energy.md).
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from netwarp.store.errors import StoreError
from netwarp.store.files import make_folder, write_atomic
from netwarp.store.result import ResultDir
from netwarp.studies.energy_cost.analysis import costs
from netwarp.studies.energy_cost.needs import AXES, ENERGY, axes_of

FOLDER = "energy-cost"


def write(result: ResultDir, *, figures: bool = True) -> list[Path]:
    """Write the table and the figure. Raises StoreError unless a flow's control and one other axis are swept, and
    something has a model of energy."""
    if (axes := axes_of(result.axes)) is None:
        raise StoreError(AXES)
    rows = list(costs(result.summary(), axes))
    if not rows:
        raise StoreError(ENERGY)
    folder = make_folder(result.path / FOLDER)
    table = pl.DataFrame([vars(row) for row in rows], infer_schema_length=None)
    write_atomic(folder / "trade-off.csv", table.write_csv)
    written = [folder / "trade-off.csv"]
    if figures:
        # Imported lazily: matplotlib takes long to load, and tables do not need it.
        from netwarp.studies.energy_cost.figure import draw  # noqa: PLC0415

        written += draw(rows, result, axes, result.plots / FOLDER)
    return written
