"""The rule that every figure over time keeps: what is drawn can be told apart, and what could not be is not drawn.

- Curves that coincide are drawn as stripes of all their colours, and the figure says so.
- More flows than can be told apart are a median and bands.
- More values than can be told apart stand in panels of their own; values decades apart have axes of their own.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from netwarp.plots.colours import MAX_DISTINCT
from netwarp.plots.timeseries.figure_spec import Curve, FigureSpec, Panel, Values, Variant

MAX_ORDERED = 12
"""Of values with an order so many show in one panel how things change with them."""
MAX_PANELS = 32
MAX_LINES = 4
"""So many flows of one name are lines; of more their median is, and bands."""
STRIPED = "striped: curves that coincide"
OWN_AXES = "each panel has an axis of its own"
_OWN_FROM = 5.0
"""From how large a ratio of panels on a common axis would flatten the lower ones."""
_GRID = 240
_CLOSE = 0.012
"""Of the axis: about the width of a line."""
_MOSTLY = 0.8
_STRIPE = 3.5


def fits_one_panel(count: int, ordered: bool) -> bool:
    """Whether so many variants can be told apart when they are drawn over each other."""
    return count <= (MAX_ORDERED if ordered else MAX_DISTINCT)


def striped(spec: FigureSpec, *, alone: bool, log: bool) -> tuple[FigureSpec, list[str]]:
    """The spec with stripes where curves of one panel coincide, and the note that says so; `alone`: its panels;
    `log`: on a logarithmic axis."""
    if alone:
        found = [(panel.heading, *_striped(panel.variants, spec, log)) for panel in spec.shown_alone]
        panels = [Panel(heading, variants) for heading, variants, _ in found]
        return replace(spec, panels=panels), [STRIPED] if any(changed for *_, changed in found) else []
    variants, changed = _striped(spec.variants, spec, log)
    return replace(spec, variants=variants), [STRIPED] if changed else []


def _striped(variants: Sequence[Variant], spec: FigureSpec, log: bool) -> tuple[list[Variant], bool]:
    found = list(variants)
    groups = coinciding(_logarithms(variants) if log else variants, spec.window, steps=spec.quantity.steps)
    for group in groups:
        for place, at in enumerate(group):
            found[at] = replace(found[at], dash=stripe(place, len(group)))
    return found, bool(groups)


def _logarithms(variants: Sequence[Variant]) -> list[Variant]:
    """The variants with the logarithms of their values: what stands apart on such an axis. 0 is at its foot."""
    every = [curve.values for variant in variants for curve in variant.curves]
    least = min((float(values[values > 0].min()) for values in every if (values > 0).any()), default=1.0)
    return [
        replace(variant, curves=[Curve(c.times, np.log10(np.maximum(c.values, least) / least)) for c in variant.curves])
        for variant in variants
    ]


def stripe(place: int, count: int) -> tuple[float, tuple[float, float]]:
    """The dashes of one of so many lines on top of each other, so that each shows where the others do not."""
    return place * _STRIPE, (_STRIPE, (count - 1) * _STRIPE)


def coinciding(
    variants: Sequence[Variant], window: tuple[float, float], *, steps: bool = False, span: float | None = None
) -> list[list[int]]:
    """Which variants of one colour each, drawn in one panel, would hide each other: groups of two or more, by number.

    Two coincide where they lie within the width of a line for most of the time that either is there. Of variants
    with several curves nothing is said: they are clouds of lines.
    """
    single = [at for at, variant in enumerate(variants) if len(variant.curves) == 1]
    grid = np.linspace(*window, _GRID)
    values = {at: _on(grid, variants[at].curves[0], steps) for at in single}
    known = [some[np.isfinite(some)] for some in values.values()]
    held = np.concatenate([some for some in known if len(some)] or [np.zeros(1)])
    near = _CLOSE * (span if span is not None else float(held.max() - min(held.min(), 0.0)))
    groups: list[list[int]] = []
    for at in single:
        group = next((group for group in groups if _close(values[group[0]], values[at], near)), None)
        if group is None:
            groups.append([at])
        else:
            group.append(at)
    return [group for group in groups if len(group) > 1]


def _on(grid: Values, curve: Curve, steps: bool) -> Values:
    """The curve's values at these times; NaN where it is not."""
    if not len(curve.times):
        return np.full(len(grid), np.nan)
    inside = (grid >= curve.times[0]) & (grid <= curve.times[-1])
    if steps:
        at = np.clip(np.searchsorted(curve.times, grid, side="right") - 1, 0, len(curve.times) - 1)
        return np.where(inside, curve.values[at], np.nan)
    return np.where(inside, np.interp(grid, curve.times, curve.values), np.nan)


def _close(one: Values, other: Values, near: float) -> bool:
    either = np.isfinite(one) | np.isfinite(other)
    with np.errstate(invalid="ignore"):
        alike = np.abs(one - other) <= near
    return bool(either.any()) and float(alike.sum()) >= _MOSTLY * float(either.sum())


def wants_own_axes(panels: Sequence[Panel]) -> bool:
    """Whether the panels' values lie so far apart that on a common linear axis the lower ones would be flat."""
    tops = [_top(panel) for panel in panels]
    present = [top for top in tops if top > 0]
    return len(present) > 1 and max(present) / min(present) > _OWN_FROM


def _top(panel: Panel) -> float:
    """What the panel's curves reach, single peaks aside."""
    return max((_level(curve.values) for variant in panel.variants for curve in variant.curves), default=0.0)


def _level(values: Values) -> float:
    finite = values[np.isfinite(values)]
    return float(np.percentile(finite, 95)) if len(finite) else 0.0
