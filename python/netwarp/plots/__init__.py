"""Figures of records and summaries."""

from collections.abc import Sequence
from pathlib import Path

from netwarp.plots.formats import FORMATS


def plot_result(result_dir: Path, formats: Sequence[str] = FORMATS, out: Path | None = None) -> list[Path]:
    """Draw every figure of a result into its `plots/` (or `out`), in each format; return the files in order of name.

    Runs that failed are left out. Raises StoreError if the directory is not a result or cannot be written.
    The same records give the same bytes. The drawing library is loaded only here.
    """
    from netwarp.plots.timeseries.result import draw_result  # noqa: PLC0415

    return draw_result(result_dir, tuple(formats), out)


__all__ = ["plot_result"]
