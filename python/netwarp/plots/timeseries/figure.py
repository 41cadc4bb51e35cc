"""Figures of a quantity over time: all variants in one panel, or one panel each."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import cycle, zip_longest
from typing import Any

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from netwarp.plots import legibility, style
from netwarp.plots.look import current
from netwarp.plots.timeseries import strip
from netwarp.plots.timeseries.figure_spec import Bar, Curve, FigureSpec, Panel, Quantity, SecondaryAxis, Variant
from netwarp.plots.timeseries.scale import set_scale, shows_log
from netwarp.plots.timeseries.series import reduce_series
from netwarp.plots.turns import cut_out

FOOT_IN = 0.5
LEFT_IN = 0.75
RIGHT_IN = 0.25
_LEGEND_IN = 1.9
"""The maximum width of the labels of a legend at the right."""
_OVERLAY_IN, _PANEL_IN, _HEADING_IN, _ROW_GAP_IN = 3.4, 1.2, 0.26, 0.2
_TICKS, _PANEL_TICKS = 6, 4
_STEPS = [1, 2, 2.5, 5, 10]
_STRENGTHS = (0.16, 0.28)
"""The opacity of a variant's bands, the wider one first."""
_RATE: dict[str, Any] = {"color": style.INK, "linewidth": 0.9, "zorder": 1.6}
_DASHES = ((0, (1, 1.2)), (0, (4, 1.5)), (0, (6, 1.5, 1, 1.5)))
"""The lines of rates that change, in turn."""


def overlay(spec: FigureSpec) -> Figure:
    """Draw all variants in one panel, the legend beside it (below in a narrow figure), changes and phases below."""
    spec, notes = legibility.in_turns(spec, alone=False)
    narrow = current().narrow
    handles = legend_handles(spec, style.width_in() - LEFT_IN if narrow else _LEGEND_IN)
    phases = [bar for _, _, bars in strip.phase_rows(spec) for bar in bars]
    right_in = RIGHT_IN if narrow else max(legend_in(spec, handles), 1.2 if phases else RIGHT_IN)
    panel_wide_in = style.width_in() - LEFT_IN - right_in
    strip_in = strip.height_in(spec, panel_wide_in)
    labels = [str(handle.get_label()) for handle in handles]
    below_in = style.legend_rows_in(labels, panel_wide_in) if narrow else 0.0
    phases_in = style.line_in(9) if narrow and phases else 0.0
    foot_in = FOOT_IN + below_in + phases_in
    subtitle = _subtitle(spec, notes)
    head_in = style.head_in(spec.quantity.title, subtitle, LEFT_IN, spec.left_out)
    panel_in = (
        style.tall(_OVERLAY_IN) if narrow else max(_OVERLAY_IN, 0.27 * sum(text.count("\n") + 1 for text in labels))
    )
    figure = style.new_figure(panel_in + head_in + foot_in + strip_in)
    height, wide = _height(figure), style.width_in()
    bottom, left = (foot_in + strip_in) / height, LEFT_IN / wide
    axes = figure.add_axes((left, bottom, panel_wide_in / wide, 1 - bottom - head_in / height))
    for variant in spec.variants:
        draw_variant(axes, spec.quantity, variant)
    axes.set_title("")
    finish(axes, spec, _TICKS)
    axes.set_ylabel(style.fitted(spec.quantity.axis, style.points(10), style.tall(_OVERLAY_IN), 2))
    box = axes.get_position()
    if strip_in:
        strip.draw_strip(figure, axes, spec, foot_in / height, strip_in / height)
    if phases and narrow:
        strip.phase_legend(figure, phases, left, (0.04 + below_in) / height, beside=False)
    elif phases:
        strip.phase_legend(figure, phases, box.x1 + 0.015, foot_in / height, beside=True)
    figure.axes[-1].set_xlabel("time (s)")
    style.head(figure, spec.quantity.title, subtitle, left, spec.left_out)
    if handles and narrow:
        style.legend_below(figure, handles, left, 0.04, panel_wide_in)
    elif handles:
        title = style.fitted(spec.legend_title, style.points(9), _LEGEND_IN, 2)
        style.legend_outside(figure, axes, title, (box.x1 + 0.015, box.y1), handles)
    return figure


@dataclass(frozen=True)
class _Grid:
    """The grid of panels: columns, rows and margins, in inches."""

    columns: int
    rows: int
    left: float
    right: float
    foot: float
    own_axes: bool

    def width(self) -> float:
        """The width of one panel."""
        gap = self.gap() * (self.columns - 1)
        return (style.width_in() - self.left - self.right - gap) / self.columns

    def gap(self) -> float:
        """The gap between the panels of a row, which has room for ticks' names if each has its own axis."""
        return 0.55 if self.own_axes else 0.28


def _as_wide(panel: Panel, wide_in: float) -> Panel:
    """The panel with as many samples as its width in pixels can show."""
    columns = max(int(wide_in * style.dots_per_inch()), 1)
    variants = [
        replace(v, curves=[Curve(*reduce_series(curve.times, curve.values, columns)) for curve in v.curves])
        for v in panel.variants
    ]
    return Panel(panel.heading, variants)


def multiples(spec: FigureSpec) -> Figure:
    """Draw the figure's panels with common axes, or separate ones if values are decades apart; the legend is below
    them unless the headings replace it."""
    handles = _panel_handles(spec)
    panels = spec.shown_alone
    own_axes = legibility.wants_own_axes(panels) and not any(shows_log(_of_panel(spec, panel)) for panel in panels)
    spec, notes = legibility.in_turns(spec, alone=True, own_axes=own_axes)
    panels = spec.shown_alone
    second = None if own_axes or shows_log(spec) else spec.quantity.secondary_axis
    labels = [str(handle.get_label()) for handle in handles]
    phases = [bar for panel in panels for variant in panel.variants for bar in variant.phases]
    wide_in = style.width_in() - LEFT_IN - RIGHT_IN
    legend_high = style.legend_rows_in(labels, wide_in)
    columns = _columns(len(panels))
    grid = _Grid(
        columns=columns,
        rows=-(-len(panels) // columns),
        left=LEFT_IN,
        right=0.8 if second else RIGHT_IN,
        foot=FOOT_IN + legend_high + (style.line_in(9) if phases else 0.0),
        own_axes=own_axes,
    )
    headings = [style.fitted(panel.heading, style.points(9.5), grid.width(), 2) for panel in panels]
    heading_in = _HEADING_IN + 0.16 * any("\n" in heading for heading in headings) + 0.1 * bool(phases)
    title, subtitle = _panel_words(spec, second, [*notes, *([legibility.OWN_AXES] if own_axes else [])])
    head_in = style.head_in(title, subtitle, LEFT_IN, spec.left_out)
    panel_in = style.tall(_PANEL_IN) * (2 if len(panels) == 1 else 1)
    row_in = panel_in + heading_in + _ROW_GAP_IN
    height = head_in + grid.rows * row_in + grid.foot - _ROW_GAP_IN
    figure = style.new_figure(height)
    wide = style.width_in()
    for number, (panel, heading) in enumerate(zip(panels, headings, strict=True)):
        row, column = divmod(number, columns)
        x = grid.left + column * (grid.width() + grid.gap())
        y = height - head_in - row * row_in - heading_in - panel_in
        axes = figure.add_axes((x / wide, y / height, grid.width() / wide, panel_in / height))
        _panel(axes, spec, _as_wide(panel, grid.width()), heading)
        shown = _of_panel(spec, panel) if own_axes else spec
        axes.xaxis.set_major_locator(MaxNLocator(max(3, min(6, int(grid.width() / 0.45))), steps=_STEPS))
        axes.set_xlim(*spec.window)
        set_scale(axes, shown, ticks=_PANEL_TICKS if panel_in > 1 else 2)
        axes.tick_params(labelleft=column == 0 or own_axes)
        lowest = number + columns >= len(panels)
        axes.tick_params(labelbottom=lowest)
        if lowest:
            axes.set_xlabel("time (s)")
        if second and (column == columns - 1 or number == len(panels) - 1):
            _second_axis(axes, second, _PANEL_TICKS if panel_in > 1 else 2)
    middle = (grid.foot + height - head_in) / 2 / height
    room_in = height - head_in - grid.foot
    if second:
        words = style.fitted(second.axis, style.points(10), room_in)
        figure.text(1 - 0.06 / wide, middle, words, rotation=90, va="center", ha="right")
    axis = style.fitted(spec.quantity.axis, style.points(10), room_in)
    figure.text(0.06 / wide, middle, axis, rotation=90, va="center", ha="left")
    if phases:
        strip.phase_legend(figure, phases, LEFT_IN / wide, (0.05 + legend_high) / height, beside=False)
    if handles:
        style.legend_below(figure, handles, LEFT_IN / wide, 0.05, wide_in)
    style.head(figure, title, subtitle, LEFT_IN / wide, spec.left_out)
    return figure


def _of_panel(spec: FigureSpec, panel: Panel) -> FigureSpec:
    """The spec of one panel by itself."""
    return replace(spec, variants=panel.variants, panels=[panel])


def _columns(count: int) -> int:
    """The number of panels in a row."""
    if current().narrow:
        return 1 if count <= 3 else 2
    return 1 if count <= 3 else 2 if count <= 8 else 3 if count <= 15 else 4


def _panel_words(spec: FigureSpec, second: SecondaryAxis | None, notes: Sequence[str]) -> tuple[str, str]:
    title = second.title if second else spec.quantity.title
    by = f", by {spec.legend_title}" if spec.legend_title else ""
    return title + by, _subtitle(spec, [*_spoken(spec), *notes])


def _subtitle(spec: FigureSpec, notes: Sequence[str]) -> str:
    return " · ".join(part for part in (spec.subtitle, *notes) if part)


def _panel(axes: Axes, spec: FigureSpec, panel: Panel, heading: str) -> None:
    for steps, dash in zip(spec.limiting, cycle(_DASHES), strict=False):
        ats, rates = zip(*steps.steps, (spec.duration_s, steps.steps[-1][1]), strict=True)
        axes.plot(ats, rates, drawstyle="steps-post", linestyle=dash, **_RATE)
    for variant in panel.variants:
        draw_variant(axes, spec.quantity, variant)
    phases = [variant.phases for variant in panel.variants if variant.phases]
    if phases:
        phases_on_top(axes, phases[0])
    strip.mark_changes(axes, spec)
    axes.set_title(heading, loc="left", fontsize=style.points(9.5), color=style.INK, pad=10 if phases else 4)


def _second_axis(axes: Axes, secondary_axis: SecondaryAxis, ticks: int) -> None:
    """Draw an axis at the right with the other unit, with ticks at its own round numbers."""
    beside = axes.twinx()
    beside.grid(False)
    beside.set_ylim(*(end * secondary_axis.factor for end in axes.get_ylim()))
    beside.yaxis.set_major_locator(MaxNLocator(ticks, steps=_STEPS))
    beside.yaxis.set_major_formatter("{x:g}")


def draw_variant(axes: Axes, quantity: Quantity, variant: Variant) -> None:
    """Draw the variant's bands, and its curves over them."""
    for band, strength in zip(variant.bands, _STRENGTHS, strict=True) if variant.bands else ():
        axes.fill_between(band.times, band.lows, band.highs, color=variant.colour, alpha=strength, lw=0)
    axes.spines["bottom"].set_zorder(1.5)  # below the curves, or those that stay at 0 are hidden
    crowd = len(variant.curves)
    width = 2.4 if variant.reference else 1.1
    look: dict[str, Any] = {
        "color": variant.colour,
        "linestyle": variant.dash,
        "drawstyle": "steps-post" if quantity.steps else "default",
        "alpha": 1.0 if crowd == 1 else 0.55,
        "linewidth": width if crowd == 1 else 0.8 * width,
    }
    for curve, stretches in zip_longest(variant.curves, variant.in_front, fillvalue=()):
        assert isinstance(curve, Curve)
        axes.plot(curve.times, curve.values, label=variant.label, **look)
        for stretch in stretches:
            piece = cut_out(curve, stretch, steps=quantity.steps)
            axes.plot(piece.times, piece.values, label=f"_{variant.label}", zorder=2.5, **look)


def legend_handles(spec: FigureSpec, wide_in: float) -> list[Artist]:
    """Legend entries for the lines and bands of one panel; empty for a single line, which the title explains."""
    bands = list({band.label: band for variant in spec.variants for band in variant.bands}.values())
    if len(spec.variants) < 2 and not bands:
        return []
    handles: list[Artist] = [_handle(variant, wide_in) for variant in spec.variants]
    if len(spec.variants) == 1:  # the bands of several have the variants' colours
        colour = spec.variants[0].colour
        words = [style.fitted(band.label, style.points(9), wide_in) for band in bands]
        shades = zip(words, _STRENGTHS, strict=False)
        handles += [Patch(facecolor=colour, alpha=strength, label=label) for label, strength in shades]
    return handles


def _handle(variant: Variant, wide_in: float) -> Line2D:
    label = style.fitted(variant.label, style.points(9), wide_in, 2)
    return Line2D([], [], color=variant.colour, ls=variant.dash, linewidth=2.2, label=label)


def legend_in(spec: FigureSpec, handles: Sequence[Artist]) -> float:
    """The width of the margin for the legend, in inches."""
    if not handles:
        return RIGHT_IN
    size = style.points(9)
    title = style.fitted(spec.legend_title, size, _LEGEND_IN, 2)
    lines = [line for text in (*(str(h.get_label()) for h in handles), title) for line in text.split("\n")]
    return 0.72 + max(style.text_in(line, size) for line in lines)


def _panel_handles(spec: FigureSpec) -> list[Artist]:
    """Legend entries for the lines of panels that the headings do not explain."""
    room = style.width_in() - LEFT_IN - 1
    variants = [variant for variant in spec.variants if spec.panels or variant.reference]
    lines: list[Artist] = [_handle(variant, room) for variant in variants]
    rates = zip(spec.limiting, cycle(_DASHES), strict=False)
    return lines + [Line2D([], [], label=f"rate of {one.label}", linestyle=dash, **_RATE) for one, dash in rates]


def finish(axes: Axes, spec: FigureSpec, ticks: int) -> None:
    """Set the axes' limits, and draw lines at changes."""
    strip.mark_changes(axes, spec)
    axes.set_xlim(*spec.window)
    set_scale(axes, spec, ticks=ticks)


def _spoken(spec: FigureSpec) -> list[str]:
    """The meaning of the dashed lines in words, if they are few; empty if the panels show it or there are no lines."""
    if not strip.marks(spec):
        return []
    texts = [words for _, words in spec.changes if words]
    if not spec.quantity.secondary_axis:
        texts += [f"rate of {s.label} {', '.join(f'{rate:g}' for _, rate in s.steps)} Mbit/s" for s in spec.schedules]
    words = "; ".join(texts)
    return [f"dashed: {words}" if len(words) < 120 else "dashed: changes"] if words else []


def phases_on_top(axes: Axes, phases: Sequence[Bar]) -> None:
    """Draw a variant's phases along the top of its panel."""
    inset = axes.inset_axes((0, 1.0, 1, 0.07), sharex=axes)
    inset.set_axis_off()
    inset.set_ylim(0, 1)
    strip.draw_bars(inset, phases, 0.5)


def _height(figure: Figure) -> float:
    return float(figure.get_size_inches()[1])
