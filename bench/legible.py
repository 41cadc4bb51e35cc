"""Requirements for every drawn figure: text is complete and readable, curves can be told apart.

They are checked on the artists, not on netwarp's data: their positions in pixels once the figure has been laid out.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.transforms import Bbox

MIN_POINTS = 7.0
MAX_LINES = 12
_GRID = 300
_NEAR_PX = 1.0
_MOSTLY = 0.9
_FLAT = 0.03
_APART_PX, _ONE_LINE = 2.0, 0.6
"""Minimum distance between words on one line; words are on one line if this share of their height overlaps."""


def problems(figure: Figure) -> list[str]:
    """Describe everything that is wrong with a figure."""
    canvas = FigureCanvasAgg(figure)
    figure.draw_without_rendering()  # the layout is all that is looked at; pixels would take as long again
    renderer: Any = canvas.get_renderer()  # type: ignore[no-untyped-call]
    texts = [(text, text.get_window_extent(renderer)) for text in _texts(figure)]
    return [
        *_clipped(figure, texts),
        *(
            f'"{_short(text)}" is set in {text.get_fontsize():.1f} points'
            for text, _ in texts
            if float(text.get_fontsize()) < MIN_POINTS - 0.01
        ),
        *_overlapping(texts),
        *(problem for axes in figure.axes for problem in (*_curves(axes), *_without_place(axes))),
    ]


def _texts(figure: Figure) -> Iterator[Text]:
    """All drawn text; tick labels only within the axis' limits."""
    ticks: set[Text] = set()
    shown: set[Text] = set()
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            room = 1e-9 * max(abs(low), abs(high))
            for place, tick in zip(axis.get_ticklocs(), axis.get_major_ticks(), strict=False):
                ticks |= {tick.label1, tick.label2}
                if low - room <= place <= high + room and axes.axison:
                    shown |= {label for label in (tick.label1, tick.label2) if label.get_visible()}
            for tick in axis.get_minor_ticks():
                ticks |= {tick.label1, tick.label2}
    for text in figure.findobj(Text):
        assert isinstance(text, Text)
        if text.get_text().strip() and text.get_visible() and (text not in ticks or text in shown):
            yield text


def _clipped(figure: Figure, texts: list[tuple[Text, Bbox]]) -> Iterator[str]:
    whole = figure.bbox
    for text, box in texts:
        if box.x0 < whole.x0 - 1 or box.y0 < whole.y0 - 1 or box.x1 > whole.x1 + 1 or box.y1 > whole.y1 + 1:
            yield f'"{_short(text)}" reaches beyond the figure'


def _overlapping(texts: list[tuple[Text, Bbox]]) -> Iterator[str]:
    for (one, box), (other, second) in combinations(texts, 2):
        wide = min(box.x1, second.x1) - max(box.x0, second.x0)
        high = min(box.y1, second.y1) - max(box.y0, second.y0)
        if wide > 1.5 and high > 2.5:
            yield f'"{_short(one)}" and "{_short(other)}" overlap'
        elif wide > -_APART_PX and high > _ONE_LINE * min(box.height, second.height):
            yield f'"{_short(one)}" and "{_short(other)}" read as one'


def _without_place(axes: Axes) -> Iterator[str]:
    """Values of 0, or below, on a logarithmic axis."""
    for line in (line for line in axes.get_lines() if line.get_transform() == axes.transData):
        for scale, values in ((axes.get_xscale(), line.get_xdata()), (axes.get_yscale(), line.get_ydata())):
            if scale == "log" and (np.asarray(values, float) <= 0).any():
                yield f'"{line.get_label()}" has values that a logarithmic axis does not show'


def _curves(axes: Axes) -> Iterator[str]:
    every = [line for line in axes.get_lines() if line.get_visible()]
    # A curve that is in front of others for a time is drawn once more there, under its label and a line before it.
    in_front = {str(line.get_label()).removeprefix("_") for line in every if str(line.get_label()).startswith("_")}
    lines = [line for line in every if len(line.get_xdata()) > 3 and not str(line.get_label()).startswith("_")]  # type: ignore[arg-type]
    looks = {(line.get_color(), str(line.get_linestyle())) for line in lines}
    if len(looks) > MAX_LINES + 1:
        yield f"{len(looks)} curves in one panel cannot be told apart"
    places = [_pixels(axes, line) for line in lines]
    for (one, first), (other, second) in combinations(zip(lines, places, strict=True), 2):
        solid = one.get_linestyle() == "-" and other.get_linestyle() == "-"
        if (
            solid
            and one.get_color() != other.get_color()
            and one.get_linewidth() == other.get_linewidth()
            and one.get_label() not in in_front
            and _hide(first - axes.bbox.y0, second - axes.bbox.y0)
        ):
            yield f'"{one.get_label()}" and "{other.get_label()}" are drawn on top of each other'
    height = axes.bbox.height
    tops = [top - axes.bbox.y0 for line, place in zip(lines, places, strict=True) if (top := _top(axes, line, place))]
    if tops and 0 < max(tops) < _FLAT * height:
        yield f"all curves of a panel lie in the lowest {100 * max(tops) / height:.1f} % of it"


def _pixels(axes: Axes, line: Line2D) -> np.ndarray:
    """The line's height in pixels on a grid over the panel's width; NaN outside of it."""
    xs, ys = np.asarray(line.get_xdata(), float), np.asarray(line.get_ydata(), float)
    grid = np.linspace(*axes.get_xlim(), _GRID)
    inside = (grid >= xs[0]) & (grid <= xs[-1])
    if line.get_drawstyle() == "steps-post":
        values = ys[np.clip(np.searchsorted(xs, grid, side="right") - 1, 0, len(ys) - 1)]
    else:
        values = np.interp(grid, xs, ys)
    pixels = axes.transData.transform(np.column_stack([grid, values]))[:, 1]
    return np.where(inside, pixels, np.nan)


def _top(axes: Axes, line: Line2D, place: np.ndarray) -> float:
    """The highest pixel of a line, spikes between the places of the grid included; 0 if it has none."""
    xs, ys = np.asarray(line.get_xdata(), float), np.asarray(line.get_ydata(), float)
    low, high = sorted(axes.get_xlim())
    shown = ys[(xs >= low) & (xs <= high) & np.isfinite(ys)]
    spikes = axes.transData.transform([(low, shown.max())])[:, 1] if len(shown) else np.empty(0)
    return float(np.nanmax(np.concatenate([spikes, place[np.isfinite(place)]]), initial=0.0))


def _hide(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether most of two curves, in pixels above the axis, is at the same height. On the axis nothing is to be seen,
    as of queues that are mostly empty."""
    either = np.isfinite(one) | np.isfinite(other)
    with np.errstate(invalid="ignore"):
        near = np.abs(one - other) <= _NEAR_PX
        either &= ~((one <= _NEAR_PX) & (other <= _NEAR_PX))
        near &= either
    return bool(either.sum() > 10) and float(near.sum()) > _MOSTLY * float(either.sum())


def _short(text: Text) -> str:
    words = " ".join(text.get_text().split())
    return words if len(words) < 60 else words[:57] + "…"
