"""Figures of records and summaries."""

from pathlib import Path


def plot_result(result_dir: Path) -> list[Path]:
    """Draw every figure of a result into its `plots/`, each as PNG and SVG; returns the files in order of name.

    Runs that failed are left out. Raises StoreError if the directory is no result or cannot be written.
    Same records, same bytes. The drawing library is loaded only here.
    """
    from netwarp.plots.result import draw_result  # noqa: PLC0415

    return draw_result(result_dir)


__all__ = ["plot_result"]
