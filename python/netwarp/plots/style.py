"""The style of figures: type, margins, head and legend; and the functions that save them."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib import font_manager, rc_context
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from netwarp.plots import look
from netwarp.plots.formats import FORMATS
from netwarp.store.files import write_atomic

DPI = 150
_METADATA: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
_TITLED = ("svg", "pdf")
_FAST = {"compress_level": 3}
INK = "#222222"
MUTED = "#666666"
RATE = "#dcdcdc"
NEUTRAL = "#5B7083"
"""The colour of bars that need not be told apart; no value has it."""
TICK_ROOM = 0.04
"""The smallest distance of named ticks, in parts of an axis."""
MIN_POINTS = 7.0
"""The smallest type that can be read in print."""
_NARROW_TYPE = 0.8
_PAGE_IN = 7.0
_LOWEST = 0.55
_LINE = 1.3
"""The distance of lines of text, in multiples of their type."""
_EDGE_IN = 0.12
_ELLIPSIS = "…"
_HINTED = 1.03
"""The factor by which letters that are fitted to pixels are wider."""

RC: dict[str, Any] = {
    "font.family": "DejaVu Sans",
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.xmargin": 0,
    "axes.titley": 1.0,  # choosing the place automatically costs matplotlib two more layouts of every tick
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
    "pdf.fonttype": 42,  # TrueType: publishers refuse Type 3
    "path.simplify": True,
    "text.parse_math": False,  # names are chosen by users: a $ in one is literal
    "agg.path.chunksize": 0,
}


def width_in() -> float:
    """The width of figures, in inches."""
    return look.current().width_in


def dots_per_inch() -> int:
    """The pixels per inch of a figure: in a narrow one as many as print needs."""
    return max(DPI, 300) if look.current().narrow else DPI


def tall(inches: float) -> float:
    """Scale the height of a panel, given for the usual width: less in a narrow figure."""
    return inches * min(max(width_in() / look.SCREEN_WIDTH_IN, _LOWEST), 1.0)


def wider() -> float:
    """The factor by which figures are narrower than usual, so that fewer letters fit."""
    return max(look.SCREEN_WIDTH_IN / width_in(), 1.0)


def points(size: float) -> float:
    """Scale a size of type, given for the usual width: smaller in a narrow figure, but still readable."""
    return max(size * _NARROW_TYPE, MIN_POINTS) if look.current().narrow else size


def line_in(size: float) -> float:
    """The height of a line of type of this size, in inches."""
    return points(size) * _LINE / 72


def new_figure(height_in: float) -> Figure:
    """An empty figure of the usual width; call inside `drawing()`."""
    return Figure(figsize=(width_in(), height_in), dpi=DPI)


def drawing() -> Any:
    """A context with netwarp's style and the requested look; it restores matplotlib's settings.

    The backend stays the caller's: `rc_context` would not restore it, and a notebook would no longer show its own
    figures. Figures here are made without pyplot and need none.
    """
    size = points(10)
    own = {"font.size": size, "axes.labelsize": size, "axes.titlesize": size, "xtick.labelsize": points(9)}
    own |= {"ytick.labelsize": points(9), "legend.fontsize": points(9), "legend.title_fontsize": points(9)}
    settings: Any = dict(matplotlib.rcParamsDefault) | RC | own | dict(look.current().settings)
    del settings["backend"]
    return rc_context(settings)


@contextmanager
def drawing_wide() -> Iterator[None]:
    """A context as `drawing()`, for a figure with several columns of panels, never narrower than a page's text."""
    asked = look.current()
    with look.looking(replace(asked, width_in=max(asked.width_in, _PAGE_IN))), drawing():
        yield


@lru_cache(maxsize=20_000)
def _text_in(text: str, size: float, bold: bool, family: tuple[str, ...]) -> float:
    properties = font_manager.FontProperties(family=list(family), weight="bold" if bold else "normal")
    font = font_manager.get_font(font_manager.findfont(properties, fallback_to_default=True))
    font.set_size(size, 72)
    font.set_text(text)
    return float(font.get_width_height()[0]) / 64 / 72


def text_in(text: str, size: float, *, bold: bool = False) -> float:
    """The width of a line of text in inches, in type of `size` points."""
    settings: Any = matplotlib.rcParams
    names = [name for one in settings["font.family"] for name in settings.get(f"font.{one}", [one])]
    return _text_in(text, size, bold, tuple(names)) * _HINTED


def fitted(text: str, size: float, wide_in: float, lines: int = 1, *, bold: bool = False) -> str:
    """The text in at most `lines` lines of that width, broken between words and after underscores, cut with an ellipsis
    if it is longer.
    """
    found: list[str] = []
    for word in re.split(r"(?<=_)| ", text):
        longer = f"{found[-1]}{'' if found[-1].endswith('_') else ' '}{word}" if found else word
        if found and text_in(longer, size, bold=bold) <= wide_in:
            found[-1] = longer
        else:
            found.append(word)
    kept = found[:lines]
    if len(found) > lines:
        kept[-1] += " " + _ELLIPSIS
    return "\n".join(_cut(line, size, wide_in, bold) for line in kept)


def _cut(line: str, size: float, wide_in: float, bold: bool) -> str:
    while len(line) > 2 and text_in(line, size, bold=bold) > wide_in:
        line = line.rstrip(_ELLIPSIS + " ")[:-1].rstrip() + _ELLIPSIS
    return line


def log_ticks(axis: Axis) -> None:
    """Set ticks of a logarithmic axis at 1, 2 and 5 of each decade if there is room, as plain numbers."""
    low, high = sorted(axis.get_view_interval())
    wide = 0 < low < high and high / low > (1e3 if not look.current().narrow else 30)
    axis.set_major_locator(LogLocator(subs=(1,) if wide else (1, 2, 5)))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter(NullFormatter())


_TITLE, _SUBTITLE = 13.0, 9.5
_MAX_SUBTITLE_LINES = 4


def _head(title: str, subtitle: str, left_out: Sequence[str], left_in: float) -> tuple[str, str]:
    """Title and subtitle in the form that is drawn; without a title only the note on omissions."""
    room, asked = width_in() - left_in - _EDGE_IN, look.current().title
    head = fitted(title, points(_TITLE), room, 2, bold=True) if asked else ""
    # The note on omissions comes first, because it must not be cut.
    words = " · ".join(part for part in (*left_out, *((subtitle,) if asked else ())) if part)
    return head, fitted(words, points(_SUBTITLE), room, _MAX_SUBTITLE_LINES) if words else ""


def _lines(text: str) -> int:
    return text.count("\n") + 1 if text else 0


def head_in(title: str, subtitle: str, left_in: float, left_out: Sequence[str] = ()) -> float:
    """The height of the head with a gap below it, in inches."""
    head, below = _head(title, subtitle, left_out, left_in)
    lines_in = _lines(head) * line_in(_TITLE) + _lines(below) * line_in(_SUBTITLE)
    return 0.13 + lines_in + 0.16 if lines_in else 0.14


def head(figure: Figure, title: str, subtitle: str, left: float, left_out: Sequence[str] = ()) -> None:
    """Draw title and, smaller, subtitle at the top left (`left` in parts of the figure), in lines that fit.

    What is left out of the figure comes first, and is also shown without a title. Files always have the title as
    metadata.
    """
    figure.set_label(title)
    wide, height = figure.get_size_inches()
    title, subtitle = _head(title, subtitle, left_out, left * float(wide))
    top = 0.13
    figure.text(left, 1 - top / height, title, fontsize=points(_TITLE), fontweight="bold", va="top", linespacing=_LINE)
    top += _lines(title) * line_in(_TITLE) + 0.02 * bool(title)
    size = points(_SUBTITLE)
    figure.text(left, 1 - top / height, subtitle, fontsize=size, color=MUTED, va="top", linespacing=_LINE)


def legend_outside(
    figure: Figure, axes: Axes, title: str, at: tuple[float, float], handles: Sequence[Artist] | None = None
) -> None:
    """Draw a legend to the right of the axes, its top left at `at` of the figure, of their artists or of `handles`."""
    handles = axes.get_legend_handles_labels()[0] if handles is None else handles
    labels = [str(handle.get_label()) for handle in handles]
    legend = figure.legend(handles, labels, title=title, loc="upper left", bbox_to_anchor=at, borderaxespad=0)
    legend.set_alignment("left")
    strengthen(legend)


def strengthen(legend: Any) -> None:
    """Draw the lines of a legend as strong as its letters."""
    for line in legend.get_lines():
        line.set_linewidth(max(line.get_linewidth(), 2.0))
        line.set_alpha(1)


_HANDLE_IN = 0.42


def legend_columns(labels: Sequence[str], wide_in: float) -> int:
    """The number of columns of a legend of that width."""
    widest = max((text_in(line, points(9)) for label in labels for line in label.split("\n")), default=0.0)
    return max(1, min(len(labels), int(wide_in / (widest + _HANDLE_IN))))


def legend_rows_in(labels: Sequence[str], wide_in: float) -> float:
    """The height of a legend of that width below a panel, in inches."""
    if not labels:
        return 0.0
    rows = -(-len(labels) // legend_columns(labels, wide_in))
    lines = max(label.count("\n") + 1 for label in labels)
    return rows * lines * line_in(9) * 1.12 + 0.08


def legend_below(figure: Figure, handles: Sequence[Artist], left: float, bottom_in: float, wide_in: float) -> None:
    """Draw a legend in as many columns as fit, its lower left at `left` (in parts) and `bottom_in` of the figure."""
    labels = [str(handle.get_label()) for handle in handles]
    legend = figure.legend(
        handles=list(handles),
        loc="lower left",
        bbox_to_anchor=(left, bottom_in / float(figure.get_size_inches()[1])),
        borderaxespad=0,
        borderpad=0,
        ncols=legend_columns(labels, wide_in),
        handlelength=1.6,
        columnspacing=1.0,
        labelspacing=0.3,
        handletextpad=0.5,
    )
    strengthen(legend)


def save(figure: Figure, stem: Path, formats: Sequence[str] = FORMATS) -> list[Path]:
    """Write `stem`.<format> for each format, without date or version; return the files. Raises StoreError."""
    asked = look.current()
    if not asked.draws(stem.name):
        return []
    folder = asked.out or stem.parent
    return [_save(figure, folder / f"{stem.name}.{kind}", kind) for kind in asked.formats or formats]


def _save(figure: Figure, file: Path, kind: str) -> Path:
    options: dict[str, Any] = {"metadata": dict(_METADATA[kind])}
    if kind in _TITLED and figure.get_label():
        options["metadata"]["Title"] = figure.get_label()
    if kind == "png":
        options["pil_kwargs"] = _FAST
        options["dpi"] = dots_per_inch()
    write_atomic(file, lambda path: figure.savefig(path, format=kind, **options))
    return file
