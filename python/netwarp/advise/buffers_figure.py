"""The figure and the files of a search for the smallest buffers."""

import json
from collections.abc import Sequence
from pathlib import Path

import polars as pl
from matplotlib.figure import Figure

from netwarp.advise.buffers import KEPT, SIZES, Smallest, rows
from netwarp.plots import style
from netwarp.plots.colours import REFERENCE, looks
from netwarp.store.files import write_text

_HEIGHT_IN, _LEFT = 4.0, 0.085


def write_buffers(found: Sequence[Smallest], words: str, directory: Path) -> Path:
    """Write `buffers.csv`, `buffers.json` and the figure `buffers`; returns the picture. Raises StoreError."""
    write_text(directory / "buffers.csv", pl.DataFrame(rows(found)).write_csv())
    points = [
        {**row, "points": [[point.bdp, point.goodput_mbps, point.rtt_p95_ms] for point in one.points]}
        for row, one in zip(rows(found), found, strict=True)
    ]
    write_text(directory / "buffers.json", json.dumps(points, indent=2, ensure_ascii=False) + "\n")
    with style.drawing():
        files = style.save(draw_buffers(found, words), directory / "buffers")
    return next(path for path in files if path.suffix == ".png")


def draw_buffers(found: Sequence[Smallest], words: str) -> Figure:
    """Draw throughput over size, a panel for each path, a curve for each control; call inside `style.drawing()`."""
    figure = style.new_figure(_HEIGHT_IN)
    paths = list(dict.fromkeys(one.path for one in found))
    controls = list(dict.fromkeys(one.control for one in found))
    colour = {name: look[0] for name, look in zip(controls, looks(controls), strict=True)}
    wide = (0.97 - _LEFT) / len(paths)
    least = min(
        100 * point.goodput_mbps / max(p.goodput_mbps for p in one.points) for one in found for point in one.points
    )
    for at, path in enumerate(paths):
        axes = figure.add_axes((_LEFT + at * wide, 0.14, wide - 0.02, 0.58))
        axes.axhline(100 * KEPT, color=REFERENCE, linewidth=0.8, linestyle="--")
        for one in (one for one in found if one.path == path):
            most = max(point.goodput_mbps for point in one.points)
            shares = [100 * point.goodput_mbps / most for point in one.points]
            axes.plot(
                [point.bdp for point in one.points], shares, "o-", ms=3, color=colour[one.control], label=one.control
            )
            axes.plot([one.bdp], [100 * one.share], "o", ms=8, mfc="none", color=colour[one.control])
        axes.set_xscale("log")
        axes.set_xlim(SIZES[0] / 1.3, SIZES[-1] * 1.3)
        axes.set_xticks(SIZES[::2], [f"{size:g}" for size in SIZES[::2]])
        axes.minorticks_off()
        axes.set_ylim(min(least, 96) - 3, 102)
        axes.set_title(path, loc="left", fontsize=style.points(9), color=style.MUTED)
        axes.set_xlabel("buffer (BDP)")
        if at:
            axes.tick_params(labelleft=False)
        else:
            axes.set_ylabel("% of the most")
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="upper right", bbox_to_anchor=(0.97, 0.86), ncols=len(labels), fontsize=style.points(9)
    )
    subtitle = f"{words}; rings: the smallest that keeps {100 * KEPT:g} % (dashed)"
    style.head(figure, "How small a buffer may be", subtitle, _LEFT)
    return figure
