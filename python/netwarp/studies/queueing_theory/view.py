"""Measurement beside theory: one Poisson source into one link at several loads (`md1`, `mm1`, `mm1k`).

Writes `queueing-theory/theory.csv`, one row for each load and quantity, its findings, and a figure of both together.
The measured values are the means of the summary, one for each seed, with Student's t interval over the seeds.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import polars as pl

from netwarp.store.errors import StoreError
from netwarp.store.files import make_folder, write_atomic
from netwarp.store.findings import write_findings
from netwarp.store.result import ResultDir
from netwarp.studies.queueing_theory.analysis import compare_with_theory, findings_of, loads_of
from netwarp.studies.queueing_theory.needs import SEVERAL

FOLDER = "queueing-theory"


def write(result: ResultDir, *, figures: bool = True) -> list[Path]:
    """Write the table, the findings and the figure. Raises StoreError for runs that are not such a queue."""
    loads = loads_of(result)
    systems = {system for system, _ in loads.values()}
    if len(systems) != 1:
        raise StoreError(SEVERAL)
    (system,) = systems
    rows = list(compare_with_theory(result.summary(), {run: load for run, (_, load) in loads.items()}, system))
    folder = make_folder(result.path / FOLDER)
    table = pl.DataFrame([asdict(row) for row in rows], infer_schema_length=None)
    write_atomic(folder / "theory.csv", table.write_csv)
    written = [folder / "theory.csv", write_findings(folder, list(findings_of(rows)))]
    if figures:
        # Imported lazily: matplotlib takes long to load, and tables do not need it.
        from netwarp.studies.queueing_theory.figure import draw  # noqa: PLC0415

        written += draw(system, rows, str(result.plan.get("name", "")), result.plots / "queueing-theory")
    return written
