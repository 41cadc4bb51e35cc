"""Figures of a quantity over time: all variants in one, or one panel each."""

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from netwarp.plots import style
from netwarp.plots.labels import wrapped
from netwarp.plots.timeseries import strip
from netwarp.plots.timeseries.figure_spec import Bar, FigureSpec, Panel, Quantity, SecondaryAxis, Variant
from netwarp.plots.timeseries.scale import set_scale

_LEGEND_CHARS = 24
_HEAD_IN = 0.78
_FOOT_IN = 0.55
_LEFT_IN = 0.75
_PANEL_IN = 1.75
_SUBTITLE_CHARS = 110
_TICKS, _PANEL_TICKS = 6, 4
_STEPS = [1, 2, 2.5, 5, 10]
_LINE_IN = 0.24
"""Height of a line of legend."""
_STRENGTHS = (0.16, 0.28)
"""How dark a variant's bands are, the wider one first."""
_RATE: dict[str, Any] = {"color": style.INK, "linewidth": 0.9, "linestyle": (0, (1, 1.2)), "zorder": 1.6}


def overlay(spec: FigureSpec) -> Figure:
    """All variants in one panel, the legend to its right (none for a single variant), changes and phases beneath."""
    several = len(spec.variants) > 1 or any(variant.bands for variant in spec.variants)
    phases = bool(strip.phase_rows(spec))
    right_in = _legend_in(spec) if several else 1.15 if phases else 0.25
    strip_in = strip.height_in(spec, style.WIDTH_IN - _LEFT_IN - right_in)
    figure = style.new_figure(4.6 + strip_in)
    axes = figure.add_axes(_box(figure, right_in, strip_in))
    for variant in spec.variants:
        _draw(axes, spec.quantity, variant, wrapped(variant.label, _LEGEND_CHARS))
    axes.set_title("")
    _finish(axes, spec, _TICKS)
    axes.set_ylabel(spec.quantity.axis)
    box = axes.get_position()
    if strip_in:
        strip.draw_strip(figure, axes, spec, _FOOT_IN / _height(figure), strip_in / _height(figure))
    if phases:
        strip.phase_legend(figure, box.x1 + 0.015, _FOOT_IN / _height(figure), beside=True)
    figure.axes[-1].set_xlabel("time (s)")
    style.head(figure, spec.quantity.title, spec.subtitle, _LEFT_IN / style.WIDTH_IN)
    if several:
        style.legend_outside(figure, axes, spec.legend_title, (box.x1 + 0.015, box.y1))
    return figure


def multiples(spec: FigureSpec) -> Figure:
    """The scene's panels, all with the same axes; what the lines mean beneath them, where that is not their heading."""
    panels = spec.shown_alone
    wide = 1 if len(panels) <= 3 else 2 if len(panels) <= 8 else 3
    high = -(-len(panels) // wide)
    phases = any(variant.phases for panel in panels for variant in panel.variants)
    legend = _legend_lines(spec)
    foot_in = _LINE_IN * (phases + bool(legend))
    figure = style.new_figure(_HEAD_IN + _FOOT_IN + foot_in + _PANEL_IN * max(high, 1 + (len(panels) == 1)))
    grid = figure.subplots(high, wide, sharex=True, sharey=True, squeeze=False)
    secondary_axis = spec.quantity.secondary_axis
    x, y, w, h = _box(figure, 0.8 if secondary_axis else 0.25, foot_in)
    figure.subplots_adjust(left=x, bottom=y, right=x + w, top=y + h - 0.2 / _height(figure), hspace=0.32, wspace=0.06)
    for number, axes in enumerate(grid.flat):
        if number >= len(panels):
            axes.remove()
            continue
        _panel(axes, spec, panels[number], wide)
        if number + wide >= len(panels):
            axes.set_xlabel("time (s)")
            axes.tick_params(labelbottom=True)
    first = grid.flat[0]
    first.xaxis.set_major_locator(MaxNLocator(6, steps=_STEPS))
    first.set_xlim(0, spec.duration_s)
    set_scale(first, spec, ticks=_PANEL_TICKS)
    if secondary_axis:
        for row in range(high):
            _second_axis(grid.flat[min(row * wide + wide, len(panels)) - 1], spec, secondary_axis)
        figure.text(0.988, y + h / 2, secondary_axis.axis, rotation=90, va="center", ha="right")
    figure.text(0.012, y + h / 2, spec.quantity.axis, rotation=90, va="center", ha="left")
    if phases:
        strip.phase_legend(figure, x, 0.06 / _height(figure), beside=False)
    if legend:
        bottom = (0.06 + _LINE_IN * phases) / _height(figure)
        figure.legend(handles=legend, loc="lower left", bbox_to_anchor=(x, bottom), borderaxespad=0, ncols=len(legend))
    title = secondary_axis.title if secondary_axis else spec.quantity.title
    by = f", by {spec.legend_title}" if spec.legend_title else ""
    style.head(figure, title + by, " · ".join([spec.subtitle, *_spoken(spec)]), x)
    return figure


def _panel(axes: Axes, spec: FigureSpec, panel: Panel, wide: int) -> None:
    for steps in spec.schedules if spec.quantity.secondary_axis else ():
        ats, rates = zip(*steps.steps, (spec.duration_s, steps.steps[-1][1]), strict=True)
        axes.plot(ats, rates, drawstyle="steps-post", **_RATE)
    for variant in panel.variants:
        _draw(axes, spec.quantity, variant, None)
    phases = [variant.phases for variant in panel.variants if variant.phases]
    if phases:
        _phases_in(axes, phases[0])
    strip.mark_changes(axes, spec)
    heading = wrapped(panel.heading, 110 // wide)
    axes.set_title(heading, loc="left", fontsize=10, color=style.INK, pad=12 if phases else 6)


def _second_axis(axes: Axes, spec: FigureSpec, secondary_axis: SecondaryAxis) -> None:
    """The same axis once more at the right, its ticks named by what they come to in the twin's unit."""
    beside = axes.twinx()
    beside.grid(False)
    set_scale(beside, spec, ticks=_PANEL_TICKS)
    beside.yaxis.set_major_formatter(lambda value, _: f"{value * secondary_axis.factor:g}")


def _draw(axes: Axes, quantity: Quantity, variant: Variant, label: str | None) -> None:
    for band, strength in zip(variant.bands, _STRENGTHS, strict=True) if variant.bands else ():
        name = band.label if label is not None else None
        axes.fill_between(band.times, band.lows, band.highs, color=variant.colour, alpha=strength, lw=0, label=name)
    crowd = len(variant.curves)
    width = 2.4 if variant.reference else 1.1
    for number, curve in enumerate(variant.curves):
        axes.plot(
            curve.times,
            curve.values,
            color=variant.colour,
            linestyle=variant.dash,
            drawstyle="steps-post" if quantity.steps else "default",
            alpha=1.0 if crowd == 1 else 0.55,
            linewidth=width if crowd == 1 else 0.8 * width,
            label=label if number == 0 else None,
        )


def _legend_in(spec: FigureSpec) -> float:
    """How wide the margin for the legend is, in inches."""
    names = [variant.label for variant in spec.variants] + [b.label for v in spec.variants for b in v.bands]
    labels = [wrapped(name, _LEGEND_CHARS) for name in names]
    return 0.75 + 0.085 * max(len(line) for text in [*labels, spec.legend_title] for line in text.split("\n"))


def _legend_lines(spec: FigureSpec) -> list[Line2D]:
    """What the lines of panels mean that their headings do not say."""
    lines = [
        Line2D([], [], color=variant.colour, ls=variant.dash, linewidth=2.2, label=variant.label)
        for variant in spec.variants
        if spec.panels or variant.reference
    ]
    rates = spec.schedules if spec.quantity.secondary_axis else ()
    return lines + [Line2D([], [], label=f"rate of {steps.label}", **_RATE) for steps in rates]


def _finish(axes: Axes, spec: FigureSpec, ticks: int) -> None:
    """Axes from 0 to the run's end, and lines where something changed."""
    strip.mark_changes(axes, spec)
    axes.set_xlim(0, spec.duration_s)
    set_scale(axes, spec, ticks=ticks)


def _spoken(spec: FigureSpec) -> list[str]:
    """What the dashed lines mean, in words if they are few; nothing where the panels show it."""
    texts = [words for _, words in spec.changes if words]
    if not spec.quantity.secondary_axis:
        texts += [f"rate of {s.label} {', '.join(f'{rate:g}' for _, rate in s.steps)} Mbit/s" for s in spec.schedules]
    words = "; ".join(texts)
    return [f"dashed: {words}" if len(words) + len(spec.subtitle) < _SUBTITLE_CHARS else "dashed: changes"] * bool(
        words
    )


def _phases_in(axes: Axes, phases: Sequence[Bar]) -> None:
    """A variant's phases along the top of its own panel."""
    inset = axes.inset_axes((0, 1, 1, 0.07), sharex=axes)
    inset.set_axis_off()
    inset.set_ylim(0, 1)
    strip.draw_bars(inset, phases, 0.5)


def _box(figure: Figure, right_in: float, foot_in: float = 0.0) -> tuple[float, float, float, float]:
    """The panel's place (left, bottom, width, height) in parts of the figure, `foot_in` left free beneath it."""
    height = _height(figure)
    left, bottom = _LEFT_IN / style.WIDTH_IN, (_FOOT_IN + foot_in) / height
    return left, bottom, 1 - left - right_in / style.WIDTH_IN, 1 - bottom - _HEAD_IN / height


def _height(figure: Figure) -> float:
    return float(figure.get_size_inches()[1])
