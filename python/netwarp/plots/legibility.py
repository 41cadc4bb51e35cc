"""The rule of all figures over time: curves can be told apart, or are not drawn.

- Curves that coincide are in front of each other in turn, and the figure says so.
- More flows than can be told apart are drawn as a median and bands.
- More values than can be told apart are drawn in separate panels; values decades apart have separate axes.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from netwarp.plots.colours import MAX_DISTINCT
from netwarp.plots.look import current
from netwarp.plots.timeseries.figure_spec import Curve, FigureSpec, Panel, Values, Variant
from netwarp.plots.timeseries.scale import y_places
from netwarp.plots.turns import LINE, LINE_IN_A_COLUMN, stretches_in_front

MAX_ORDERED = 12
"""The most values with an order in one panel."""
MAX_PANELS = 32
MAX_LINES = 4
"""The most flows of one name that are drawn as lines; of more, the median and bands are drawn."""
IN_TURNS = "curves that coincide are in front in turn"
OWN_AXES = "each panel has its own axis"
_OWN_FROM = 5.0
"""The ratio of panels' values from which a common axis would flatten the lower ones."""


def fits_one_panel(count: int, ordered: bool) -> bool:
    """Whether this many variants can be told apart when they are drawn over each other."""
    return count <= (MAX_ORDERED if ordered else MAX_DISTINCT)


def in_turns(spec: FigureSpec, *, alone: bool, own_axes: bool = False) -> tuple[FigureSpec, list[str]]:
    """The spec with the stretches of time in which each curve is in front, so that none hides another, and the note
    that says so. `alone`: for separate panels; `own_axes`: each panel has its own limits."""
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
    # A reference is drawn behind the others, and is broader.
    owners = [at for at, variant in enumerate(variants) for _ in variant.curves]
    front = [at for at, variant in enumerate(variants) if not variant.reference]
    kept = [at for at, owner in enumerate(owners) if owner in front]
    steps = axes.quantity.steps
    some, found = stretches_in_front(
        [curves[at] for at in kept],
        [owners[at] for at in kept],
        axes.window,
        height,
        steps=steps,
        line=LINE_IN_A_COLUMN if current().narrow else LINE,
    )
    stretches = dict(zip(kept, some, strict=True))
    numbers = iter(range(len(curves)))
    return [
        replace(variant, in_front=[stretches.get(next(numbers), ()) for _ in variant.curves]) for variant in variants
    ], found


def wants_own_axes(panels: Sequence[Panel]) -> bool:
    """Whether the panels' values differ so much that the lower ones would be flat on a common linear axis."""
    tops = [_top(panel) for panel in panels]
    present = [top for top in tops if top > 0]
    return len(present) > 1 and max(present) / min(present) > _OWN_FROM


def _top(panel: Panel) -> float:
    """The level that the panel's curves reach, without single peaks."""
    return max((_level(curve.values) for variant in panel.variants for curve in variant.curves), default=0.0)


def _level(values: Values) -> float:
    finite = values[np.isfinite(values)]
    return float(np.percentile(finite, 95)) if len(finite) else 0.0
