"""Figures of a quantity over time: all variants in one, or one panel each."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator

from netwarp.plots import strip, style
from netwarp.plots.labels import wrapped
from netwarp.plots.scene import Quantity, Scene, Variant

_LEGEND_CHARS = 24
_HEAD_IN = 0.78
_FOOT_IN = 0.55
_LEFT_IN = 0.75
_LOG_FROM = 30
_SUBTITLE_CHARS = 100
_STEPS = [1, 2, 2.5, 5, 10]


def overlay(scene: Scene) -> Figure:
    """All variants in one panel, the legend to its right (none for a single variant), changes and phases beneath."""
    several = len(scene.variants) > 1
    phases = bool(strip.phase_rows(scene))
    labels = [wrapped(v.label, _LEGEND_CHARS) for v in scene.variants]
    widest = max(len(line) for text in [*labels, scene.legend_title] for line in text.split("\n"))
    right_in = 0.75 + 0.085 * widest if several else 1.15 if phases else 0.25
    strip_in = strip.height_in(scene, style.WIDTH_IN - _LEFT_IN - right_in)
    figure = style.new_figure(4.6 + strip_in)
    axes = figure.add_axes(_box(figure, right_in, strip_in))
    for variant, label in zip(scene.variants, labels, strict=True):
        _draw(axes, scene.quantity, variant, label)
    axes.set_title("")
    _finish(axes, scene, scene.variants)
    axes.set_ylabel(scene.quantity.axis)
    box = axes.get_position()
    if strip_in:
        strip.draw_strip(figure, axes, scene, _FOOT_IN / _height(figure), strip_in / _height(figure))
    if phases:
        strip.phase_legend(figure, box.x1 + 0.015, _FOOT_IN / _height(figure), beside=True)
    figure.axes[-1].set_xlabel("time (s)")
    style.head(figure, scene.quantity.title, scene.subtitle, _LEFT_IN / style.WIDTH_IN)
    if several:
        style.legend_outside(figure, axes, scene.legend_title, (box.x1 + 0.015, box.y1))
    return figure


def multiples(scene: Scene) -> Figure:
    """One panel a variant, all with the same axes."""
    count = len(scene.variants)
    wide = 1 if count <= 3 else 2 if count <= 8 else 3
    high = -(-count // wide)
    phases = any(variant.phases for variant in scene.variants)
    foot_in = 0.22 if phases else 0.0  # the phases' legend
    figure = style.new_figure(_HEAD_IN + _FOOT_IN + foot_in + 1.75 * high)
    grid = figure.subplots(high, wide, sharex=True, sharey=True, squeeze=False)
    x, y, w, h = _box(figure, 0.25, foot_in)
    figure.subplots_adjust(left=x, bottom=y, right=x + w, top=y + h - 0.2 / _height(figure), hspace=0.32, wspace=0.06)
    for number, axes in enumerate(grid.flat):
        if number >= count:
            axes.remove()
            continue
        variant = scene.variants[number]
        _draw(axes, scene.quantity, variant, None)
        _phases_in(axes, variant)
        if number:
            strip.mark_changes(axes, scene)
        axes.set_title(
            wrapped(variant.label, 110 // wide), loc="left", fontsize=10, color=style.INK, pad=12 if phases else 6
        )
        if number + wide >= count:
            axes.set_xlabel("time (s)")
            axes.tick_params(labelbottom=True)
    grid.flat[0].xaxis.set_major_locator(MaxNLocator(6, steps=_STEPS))
    grid.flat[0].yaxis.set_major_locator(MaxNLocator(4, steps=_STEPS))
    _finish(grid.flat[0], scene, scene.variants)
    figure.text(0.012, y + h / 2, scene.quantity.axis, rotation=90, va="center", ha="left")
    if phases:
        strip.phase_legend(figure, x, 0.06 / _height(figure), beside=False)
    by = f", by {scene.legend_title}" if scene.legend_title else ""
    style.head(figure, scene.quantity.title + by, " · ".join([scene.subtitle, *_spoken(scene)]), x)
    return figure


def _draw(axes: Axes, quantity: Quantity, variant: Variant, label: str | None) -> None:
    crowd = len(variant.curves)
    for number, curve in enumerate(variant.curves):
        axes.plot(
            curve.times,
            curve.values,
            color=variant.colour,
            linestyle=variant.dash,
            drawstyle="steps-post" if quantity.steps else "default",
            alpha=1.0 if crowd == 1 else 0.55,
            linewidth=1.1 if crowd == 1 else 0.8,
            label=label if number == 0 else None,
        )


def _finish(axes: Axes, scene: Scene, variants: Sequence[Variant]) -> None:
    """Axes from 0 to the run's end; RTTs whose ordinary values differ by far on a log axis."""
    strip.mark_changes(axes, scene)
    axes.set_xlim(0, scene.duration_s)
    levels = [_levels(curve.values) for variant in variants for curve in variant.curves]
    lowest, highest = min(low for low, _ in levels), max(high for _, high in levels)
    if scene.quantity.stem.startswith("rtt") and lowest > 0 and highest / lowest > _LOG_FROM:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter("{x:g}")
    else:
        peak = max(float(np.nanmax(curve.values)) for variant in variants for curve in variant.curves)
        axes.set_ylim(0, peak * 1.06 or 1)


def _levels(values: np.ndarray) -> tuple[float, float]:
    """The 1st and 99th percentiles of a curve, gaps aside."""
    low, high = np.nanpercentile(values, [1, 99]) if np.isfinite(values).any() else (np.inf, -np.inf)
    return float(low), float(high)


def _spoken(scene: Scene) -> list[str]:
    """What the dashed lines mean, in words if they are few."""
    words = "; ".join(words for _, words in scene.changes)
    return [f"dashed: {words}" if len(words) + len(scene.subtitle) < _SUBTITLE_CHARS else "dashed: changes"] * bool(
        words
    )


def _phases_in(axes: Axes, variant: Variant) -> None:
    """The variant's phases along the top of its own panel."""
    if not variant.phases:
        return
    inset = axes.inset_axes((0, 1, 1, 0.07), sharex=axes)
    inset.set_axis_off()
    inset.set_ylim(0, 1)
    strip.draw_bars(inset, variant.phases, 0.5)


def _box(figure: Figure, right_in: float, foot_in: float = 0.0) -> tuple[float, float, float, float]:
    """The panel's place (left, bottom, width, height) in parts of the figure, `foot_in` left free beneath it."""
    height = _height(figure)
    left, bottom = _LEFT_IN / style.WIDTH_IN, (_FOOT_IN + foot_in) / height
    return left, bottom, 1 - left - right_in / style.WIDTH_IN, 1 - bottom - _HEAD_IN / height


def _height(figure: Figure) -> float:
    return float(figure.get_size_inches()[1])
