"""How figures look: colours that colour-blind readers can tell apart, type, margins; and how they are saved."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib import colormaps, rc_context
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from netwarp.plots.formats import FORMATS
from netwarp.store.files import write_atomic

# M. Okabe, K. Ito: Color Universal Design (2008), without yellow, which is lost on white.
CATEGORICAL = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES = ("-", "--", ":", "-.")
DPI = 150
_METADATA: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
_FAST = {"compress_level": 3}
INK = "#222222"
MUTED = "#666666"
RATE = "#dcdcdc"
REFERENCE = "#9a9a9a"
"""What others are compared with: no colour, so that it is told from all of them."""
WIDTH_IN = 9.0
_TITLE_CHARS = 72
TICK_ROOM = 0.04
"""How far apart ticks with names of their own must be, in parts of an axis."""

RC: dict[str, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.xmargin": 0,
    "axes.titley": 1.0,  # a place of its own choice costs matplotlib two more layouts of every tick
    "grid.color": "#e4e4e4",
    "grid.linewidth": 0.7,
    "lines.linewidth": 1.1,
    "lines.solid_joinstyle": "round",
    "legend.frameon": False,
    "text.color": INK,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "svg.fonttype": "none",
    "svg.hashsalt": "netwarp",
    "path.simplify": True,
    "text.parse_math": False,  # names are the users': a $ in one is a $
    "agg.path.chunksize": 0,
}


def colours(count: int, ordered: bool) -> list[str]:
    """One colour an entry: shades from dark to light where the entries have an order, else distinct ones."""
    if not ordered or count < 2:
        return [CATEGORICAL[i % len(CATEGORICAL)] for i in range(count)]
    shades = colormaps["viridis"]
    return [to_hex(shades(0.86 * i / (count - 1))) for i in range(count)]


def dashes(count: int, ordered: bool) -> list[str]:
    """One dash pattern an entry: all solid until the distinct colours are used up."""
    return ["-" if ordered else DASHES[(i // len(CATEGORICAL)) % len(DASHES)] for i in range(count)]


def new_figure(height_in: float) -> Figure:
    """An empty figure of the usual width; call inside `drawing()`."""
    return Figure(figsize=(WIDTH_IN, height_in), dpi=DPI)


def drawing() -> Any:
    """A context with the house style; matplotlib's own settings are untouched after it."""
    settings: Any = dict(matplotlib.rcParamsDefault) | RC | {"backend": "agg"}
    return rc_context(settings)


def log_ticks(axis: Axis) -> None:
    """Ticks of a logarithmic axis at 1, 2 and 5 of each decade, as plain numbers."""
    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter(NullFormatter())


def head(figure: Figure, title: str, subtitle: str, left: float) -> None:
    """Title and, smaller, subtitle at the top left, at the same distance from the edge whatever the height."""
    height = figure.get_size_inches()[1]
    size = min(13.0, 13.0 * _TITLE_CHARS / max(len(title), 1))  # a long one in smaller letters, so that it fits
    figure.text(left, 1 - 0.14 / height, title, fontsize=size, fontweight="bold", va="top")
    figure.text(left, 1 - 0.42 / height, subtitle, fontsize=9.5, color=MUTED, va="top")


def legend_outside(
    figure: Figure, axes: Axes, title: str, at: tuple[float, float], handles: Sequence[Artist] | None = None
) -> None:
    """A legend to the right of the axes, its top left at `at` of the figure; of what they hold, or of `handles`."""
    handles = axes.get_legend_handles_labels()[0] if handles is None else handles
    labels = [str(handle.get_label()) for handle in handles]
    legend = figure.legend(handles, labels, title=title, loc="upper left", bbox_to_anchor=at, borderaxespad=0)
    legend.set_alignment("left")
    for line in legend.get_lines():
        line.set_linewidth(2.2)
        line.set_alpha(1)


def save(figure: Figure, stem: Path, formats: Sequence[str] = FORMATS) -> list[Path]:
    """Write `stem`.<format> for each format, without date or version in them; returns the files. Raises StoreError."""
    return [_save(figure, stem.with_name(f"{stem.name}.{kind}"), kind) for kind in formats]


def _save(figure: Figure, file: Path, kind: str) -> Path:
    options: dict[str, Any] = {"metadata": _METADATA[kind]}
    if kind == "png":
        options["pil_kwargs"] = _FAST
    write_atomic(file, lambda path: figure.savefig(path, format=kind, **options))
    return file
