"""How figures are asked to look: width, type, head, limits. One setting for all figures that are drawn with it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from netwarp.store.errors import SelectionError
from netwarp.words import did_you_mean

SCREEN_WIDTH_IN = 9.0
MIN_WIDTH_IN, MAX_WIDTH_IN = 2.5, 40.0
_INCHES = {"in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4, "pt": 1 / 72.27}

# The width of a column, and type that a class file sets beside the figure; Type 3 fonts, which both refuse in PDF
# files, are nowhere used. acmart.cls: 241.14749 pt; IEEEtran.cls: 252 pt.
_ACM = {"font.family": "serif", "font.serif": ["Linux Libertine O", "Libertinus Serif", "DejaVu Serif"]}
_IEEE = {"font.family": "serif", "font.serif": ["Times New Roman", "Nimbus Roman", "Liberation Serif", "DejaVu Serif"]}
PRESETS: Mapping[str, tuple[float, Mapping[str, Any]]] = {"acm": (3.33, _ACM), "ieee": (3.49, _IEEE)}


@dataclass(frozen=True)
class Look:
    """What `netwarp plot` may be asked for.

    `settings` are matplotlib's own (rcParams). `title` draws title and subtitle, which a caption replaces in print.
    `xlim`: from and to, of figures over time in seconds. `only`: flows, cases or values to draw; all if empty.
    `figures`: which to draw, by name; all if empty. `brief`: of many figures of one kind only the first. `formats` and
    `out`: as what, and into which folder, whatever the figure has by itself.
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
        """Whether a figure is asked for, by the stem of its file."""
        return not self.figures or any(names(figure, stem) for figure in self.figures)

    @property
    def narrow(self) -> bool:
        """Whether a figure is as wide as a column of a paper: legends go below, type is smaller."""
        return self.width_in < 6


def names(figure: str, stem: str) -> bool:
    """Whether a name means a file's stem: the stem, a pattern of it, or what it begins with (`cwnd-bulk` means
    `cwnd-bulk--cubic` and `cwnd-bulk--cubic-each`, `cwnd-bulk-each` the latter)."""
    base, each = stem.removesuffix("-each").split("--")[0], "-each" if stem.endswith("-each") else ""
    return figure in (base, base + each) or fnmatchcase(stem, figure)


_USUAL = Look()
_CURRENT: ContextVar[Look] = ContextVar("look", default=_USUAL)


def current() -> Look:
    """The look that figures are drawn with now."""
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
    """The look that these words ask for. Raises SelectionError with what would be right."""
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
    """A preset, or what a file in matplotlib's own format says."""
    if name.lower() in PRESETS:
        return PRESETS[name.lower()]
    path = Path(name)
    if not path.is_file():
        known = did_you_mean(name, PRESETS) or f": it is neither {' nor '.join(PRESETS)}"
        raise SelectionError(f'there is no style "{name}"{known}, and no such file (a .mplstyle of matplotlib)')
    from matplotlib import rc_params_from_file  # noqa: PLC0415  (the command line loads this before it knows)

    try:
        # What a file does not say stays as netwarp has it; matplotlib only warns of what it does not know.
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
    """`A,B` → both, in order."""
    try:
        low, high = (float(part.strip().removesuffix("s")) for part in text.split(","))
    except ValueError as error:
        raise SelectionError(f'"{text}" is not a range; write both ends in seconds, such as --xlim 0,5') from error
    if not low < high or abs(low) == float("inf") or abs(high) == float("inf"):
        raise SelectionError(f'"{text}" is not a range: its first end must be below the second, both finite')
    return low, high
