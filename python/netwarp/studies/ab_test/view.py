"""Interference between arms, for scenarios with the groups of flows `control` and `treated` in several mixtures.

Writes `ab-interference/effects.csv`, a row for each metric, share and point of the other axes: the difference within
the mixture beside the effect of treating all; and a figure of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl

from netwarp.store.files import make_folder, write_atomic
from netwarp.store.result import ResultDir
from netwarp.studies.ab_test.interference import Effects, effects_of
from netwarp.studies.ab_test.needs import CONTROL, TREATED

FOLDER = "ab-interference"


def write(result: ResultDir, *, figures: bool = True) -> list[Path]:
    """Write the table and the figure. Raises StoreError if the runs are not mixtures of two groups."""
    effects = effects_of(result)
    folder = make_folder(result.path / FOLDER)
    rows = [row for one in effects for row in _rows(one)]
    write_atomic(folder / "effects.csv", pl.DataFrame(rows, infer_schema_length=None).write_csv)
    written = [folder / "effects.csv"]
    if figures:
        # Imported lazily: matplotlib takes long to load, and tables do not need it.
        from netwarp.studies.ab_test.figure import draw  # noqa: PLC0415

        written += draw(effects, result, result.plots / FOLDER)
    return written


def _rows(one: Effects) -> Iterator[dict[str, float | str | None]]:
    for share, within in one.within.items():
        yield {
            "place": one.place,
            "metric": one.metric,
            "share": share,
            "control": one.means[CONTROL][share],
            "treated": one.means[TREATED][share],
            "within": within.mean,
            "within_low": within.low,
            "within_high": within.high,
            "total": one.total.mean,
            "total_low": one.total.low,
            "total_high": one.total.high,
            "verdict": one.verdict if share == one.half else None,
        }
