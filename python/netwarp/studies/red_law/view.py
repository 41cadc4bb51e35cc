"""RED's law: the fraction of dropped packets at each average of the queue, compared with the law (`red-law`).

Writes `red-law/red-law.csv`, one row for each step of the average over all runs, its findings, and a figure.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import polars as pl

from netwarp.store.errors import StoreError
from netwarp.store.files import make_folder, write_atomic
from netwarp.store.findings import write_findings
from netwarp.store.result import ResultDir
from netwarp.studies.red_law.analysis import arrivals_of, findings_of, label_of, steps_of
from netwarp.studies.red_law.needs import QUEUE

FOLDER = "red-law"


def write(result: ResultDir, *, figures: bool = True) -> list[Path]:
    """Write the table, the findings and the figure. Raises StoreError for runs without RED, or with several."""
    runs = [run for run in result.planned if result.is_complete(run.id) and result.run(run.id).has_rows("packets")]
    found = [arrivals_of(result.run(run.id), label_of(run.point)) for run in runs]
    reds = {red for red, _ in found}
    if len(reds) != 1:
        raise StoreError(QUEUE)
    (red,) = reds
    arrivals = [one for _, one in found]
    steps = list(steps_of(red, arrivals))
    folder = make_folder(result.path / FOLDER)
    write_atomic(folder / "red-law.csv", pl.DataFrame([asdict(step) for step in steps]).write_csv)
    written = [folder / "red-law.csv", write_findings(folder, list(findings_of(red, arrivals)))]
    if figures:
        # Imported lazily: matplotlib takes long to load, and tables do not need it.
        from netwarp.studies.red_law.figure import draw  # noqa: PLC0415

        written += draw(red, arrivals, steps, str(result.plan.get("name", "")), result.plots / "red-law")
    return written
