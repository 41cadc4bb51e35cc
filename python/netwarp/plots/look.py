"""The requested look of figures: width, type, head, limits. One setting applies to all figures that use it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from netwarp.common.words import did_you_mean
from netwarp.store.errors import SelectionError

SCREEN_WIDTH_IN = 9.0
MIN_WIDTH_IN, MAX_WIDTH_IN = 2.5, 40.0
_INCHES = {"in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4, "pt": 1 / 72.27}

# The width of a column, and the type of each class file. Both publishers refuse Type 3 fonts in PDF files, which are
# not used. acmart.cls: 241.14749 pt; IEEEtran.cls: 252 pt.
_ACM = {"font.family": "serif", "font.serif": ["Linux Libertine O", "Libertinus Serif", "DejaVu Serif"]}
_IEEE = {"font.family": "serif", "font.serif": ["Times New Roman", "Nimbus Roman", "Liberation Serif", "DejaVu Serif"]}
PRESETS: Mapping[str, tuple[float, Mapping[str, Any]]] = {"acm": (3.33, _ACM), "ieee": (3.49, _IEEE)}


@dataclass(frozen=True)
class Look:
    """Options of `netwarp plot`.

    `settings` are matplotlib's (rcParams). `title` draws title and subtitle, which a caption replaces in print.
    `xlim`: the time range of figures over time in seconds. `only`: flows, cases or values to draw; all if empty.
    `figures`: names of the figures to draw; all if empty. `brief`: only the first of many figures of one kind.
    `formats` and `out` override the formats and the folder of each figure.
    """

    width_in: float = SCREEN_WIDTH_IN
    title: bool = True
    settings: Mapping[str, Any] = field(default_factory=dict)
    xlim: tuple[float, float] | None = None
    ylog: bool = False
    only: tuple[str, ...] = ()
    figures: tuple[str, ...] = ()
    brief: bool = False
    formats: tuple[str, ...] = ()
    out: Path | None = None

    def draws(self, stem: str) -> bool:
        """Whether a figure is requested, by the stem of its file."""
        return not self.figures or any(names(figure, stem) for figure in self.figures)

    @property
    def narrow(self) -> bool:
        """Whether a figure is only as wide as a column of a paper: legends are below it, and type is smaller."""
        return self.width_in < 6


def names(figure: str, stem: str) -> bool:
    """Whether a name means a file's stem: it is the stem, a pattern of it, or its beginning (`cwnd-bulk` means
    `cwnd-bulk--cubic` and `cwnd-bulk--cubic-each`, `cwnd-bulk-each` only the latter)."""
    base, each = stem.removesuffix("-each").split("--")[0], "-each" if stem.endswith("-each") else ""
    return figure in (base, base + each) or fnmatchcase(stem, figure)


_USUAL = Look()
_CURRENT: ContextVar[Look] = ContextVar("look", default=_USUAL)


def current() -> Look:
    """The look with which figures are drawn now."""
    return _CURRENT.get()


@contextmanager
def looking(look: Look) -> Iterator[None]:
    """Draw figures with this look while the block runs."""
    token = _CURRENT.set(look)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def look_of(
    *,
    style: str | None = None,
    width: str | None = None,
    title: bool = True,
    only: Sequence[str] = (),
    xlim: str | None = None,
    ylog: bool = False,
) -> Look:
    """Make a look from these options. Raises SelectionError with a sentence that says what would be right."""
    width_in, settings = _style(style) if style else (SCREEN_WIDTH_IN, {})
    return Look(
        width_in=_width_in(width) if width else width_in,
        title=title,
        settings=settings,
        xlim=_limits(xlim) if xlim else None,
        ylog=ylog,
        only=tuple(only),
    )


def _style(name: str) -> tuple[float, Mapping[str, Any]]:
    """The width and settings of a preset, or of a file in matplotlib's format."""
    if name.lower() in PRESETS:
        return PRESETS[name.lower()]
    path = Path(name)
    if not path.is_file():
        known = did_you_mean(name, PRESETS) or f": it is neither {' nor '.join(PRESETS)}"
        raise SelectionError(f'there is no style "{name}"{known}, and no such file (a .mplstyle of matplotlib)')
    from matplotlib import rc_params_from_file  # noqa: PLC0415  (the command line loads this before it knows)

    try:
        # Settings that a file lacks stay as netwarp has them; matplotlib only warns of unknown ones.
        found: Any = rc_params_from_file(str(path), fail_on_error=True, use_default_template=False)
        settings: dict[str, Any] = dict(found)
    except (KeyError, ValueError, OSError) as error:
        raise SelectionError(f"{path} is not a matplotlib style: {str(error).splitlines()[0]}") from error
    if not settings:
        raise SelectionError(f"{path} is not a matplotlib style: it sets nothing (a line is such as `font.size: 8`)")
    size = settings.pop("figure.figsize", None)
    return (float(size[0]) if size else SCREEN_WIDTH_IN), settings


def _width_in(text: str) -> float:
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(in|cm|mm|pt)\s*", text)
    if match is None:
        raise SelectionError(f'"{text}" is not a width; write a number and its unit, such as 3.3in, 84mm or 8.4cm')
    width = float(match[1]) * _INCHES[match[2]]
    if not MIN_WIDTH_IN <= width <= MAX_WIDTH_IN:
        raise SelectionError(f"a figure is {MIN_WIDTH_IN:g} to {MAX_WIDTH_IN:g} inches wide; {text.strip()} is not")
    return width


def _limits(text: str) -> tuple[float, float]:
    """Parse a range `A,B`."""
    try:
        low, high = (float(part.strip().removesuffix("s")) for part in text.split(","))
    except ValueError as error:
        raise SelectionError(f'"{text}" is not a range; write both ends in seconds, such as --xlim 0,5') from error
    if not low < high or abs(low) == float("inf") or abs(high) == float("inf"):
        raise SelectionError(f'"{text}" is not a range: its first end must be below the second, both finite')
    return low, high
