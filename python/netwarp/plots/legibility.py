"""The rule that every figure over time keeps: what is drawn can be told apart, and what could not be is not drawn.

- Curves that coincide are in front of each other in turn, and the figure says so.
- More flows than can be told apart are a median and bands.
- More values than can be told apart stand in panels of their own; values decades apart have axes of their own.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from netwarp.plots.colours import MAX_DISTINCT
from netwarp.plots.timeseries.figure_spec import Curve, FigureSpec, Panel, Values, Variant
from netwarp.plots.timeseries.scale import y_places
from netwarp.plots.turns import stretches_in_front

MAX_ORDERED = 12
"""Of values with an order so many show in one panel how things change with them."""
MAX_PANELS = 32
MAX_LINES = 4
"""So many flows of one name are lines; of more their median is, and bands."""
IN_TURNS = "curves that coincide are in front in turn"
OWN_AXES = "each panel has an axis of its own"
_OWN_FROM = 5.0
"""From how large a ratio of panels on a common axis would flatten the lower ones."""


def fits_one_panel(count: int, ordered: bool) -> bool:
    """Whether so many variants can be told apart when they are drawn over each other."""
    return count <= (MAX_ORDERED if ordered else MAX_DISTINCT)


def in_turns(spec: FigureSpec, *, alone: bool, own_axes: bool = False) -> tuple[FigureSpec, list[str]]:
    """The spec with the stretches of time in which each of its curves is in front, so that none hides another; and the
    note that says so. `alone`: its panels; `own_axes`: each of which has limits of its own."""
    if not alone:
        variants, found = _in_turns(spec.variants, spec)
        return replace(spec, variants=variants), [IN_TURNS] if found else []
    shown = [
        (panel.heading, *_in_turns(panel.variants, replace(spec, variants=panel.variants, panels=[panel])))
        if own_axes
        else (panel.heading, *_in_turns(panel.variants, spec))
        for panel in spec.shown_alone
    ]
    panels = [Panel(heading, variants) for heading, variants, _ in shown]
    return replace(spec, panels=panels), [IN_TURNS] if any(found for *_, found in shown) else []


def _in_turns(variants: Sequence[Variant], axes: FigureSpec) -> tuple[list[Variant], bool]:
    """The variants of one panel, whose axes are those of that spec."""
    places, height = y_places(axes)
    curves = [Curve(curve.times, places(curve.values)) for variant in variants for curve in variant.curves]
    # A reference lies behind the others, and is broader.
    owners = [at for at, variant in enumerate(variants) for _ in variant.curves]
    front = [at for at, variant in enumerate(variants) if not variant.reference]
    kept = [at for at, owner in enumerate(owners) if owner in front]
    steps = axes.quantity.steps
    some, found = stretches_in_front(
        [curves[at] for at in kept], [owners[at] for at in kept], axes.window, height, steps=steps
    )
    stretches = dict(zip(kept, some, strict=True))
    numbers = iter(range(len(curves)))
    return [
        replace(variant, in_front=[stretches.get(next(numbers), ()) for _ in variant.curves]) for variant in variants
    ], found


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
