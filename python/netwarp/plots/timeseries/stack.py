"""Figures that stack quantities of the same variants on one time axis, with a column for each stretch of it."""

from collections.abc import Sequence

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from netwarp.plots import legibility, style
from netwarp.plots.look import current
from netwarp.plots.timeseries import strip
from netwarp.plots.timeseries.figure import (
    FOOT_IN,
    RIGHT_IN,
    draw_variant,
    finish,
    legend_handles,
    phases_on_top,
)
from netwarp.plots.timeseries.figure_spec import Bar, FigureSpec, Stack

_LEFT_IN = 1.05
_PHASES_IN = 2.9
"""The width of the legend of phases in one line."""
_ROW_IN, _GAP_IN, _COLUMN_GAP_IN = 1.3, 0.14, 0.55
_LEGEND_GAP_IN = 0.1
_STEPS = [1, 2, 2.5, 5, 10]


def stacked(stack: Stack) -> Figure:
    """Draw a row of panels for each quantity, with a legend if its lines differ from those of the row above."""
    found = [[legibility.in_turns(row, alone=False) for row in column] for column in stack.columns]
    columns = [[row for row, _ in column] for column in found]
    notes = list(dict.fromkeys(note for column in found for _, notes in column for note in notes))
    wide = style.width_in()
    legends = _legends(columns[0])
    above = [_legend_in(handles) for handles in legends]
    phases = _common_phases(columns[0][0])
    top_in = 0.16 if phases else 0.0
    foot_in = FOOT_IN + (style.line_in(9) if phases else 0.0)
    subtitle = " · ".join([stack.subtitle, *notes])
    head_in = style.head_in(stack.title, subtitle, _LEFT_IN, stack.left_out)
    row_in = style.tall(_ROW_IN)
    height = head_in + top_in + sum(above) + len(legends) * (row_in + _GAP_IN) + foot_in
    figure = style.new_figure(height)
    y = height - head_in
    for number, handles in enumerate(legends):
        y -= above[number]
        if handles:
            style.legend_below(figure, handles, _LEFT_IN / wide, y + 0.05, wide - _LEFT_IN - RIGHT_IN)
        y -= row_in + (top_in if number == 0 else 0.0)
        panels = _row(figure, [column[number] for column in columns], y, row_in)
        for axes in panels:
            axes.tick_params(labelbottom=number == len(legends) - 1)
            if number == 0 and phases:
                phases_on_top(axes, phases)
            if number == len(legends) - 1:
                axes.set_xlabel("time (s)")
        panels[0].set_ylabel(_axis_words(columns[0][number], row_in))
        y -= _GAP_IN
    if phases:
        strip.phase_legend(figure, phases, min(_LEFT_IN, wide - _PHASES_IN) / wide, 0.05 / height, beside=False)
    style.head(figure, stack.title, subtitle, _LEFT_IN / wide, stack.left_out)
    figure.align_ylabels()
    return figure


def _row(figure: Figure, specs: Sequence[FigureSpec], bottom_in: float, row_in: float) -> list[Axes]:
    """The panels of one quantity, of which each shows a stretch of time."""
    wide, height = figure.get_size_inches()
    panel_in = (wide - _LEFT_IN - RIGHT_IN - _COLUMN_GAP_IN * (len(specs) - 1)) / len(specs)
    panels = []
    for column, spec in enumerate(specs):
        x = _LEFT_IN + column * (panel_in + _COLUMN_GAP_IN)
        axes = figure.add_axes((x / wide, bottom_in / height, panel_in / wide, row_in / height))
        for variant in spec.variants:
            draw_variant(axes, spec.quantity, variant)
        axes.xaxis.set_major_locator(MaxNLocator(max(3, min(6, int(panel_in / 0.5))), steps=_STEPS))
        finish(axes, spec, 4 if row_in > 1 else 2)
        panels.append(axes)
    return panels


def _legends(rows: Sequence[FigureSpec]) -> list[list[Artist]]:
    """The legend of each row; empty if it has the texts of the row above."""
    handles = [legend_handles(row, style.width_in() - _LEFT_IN - 1) for row in rows]
    texts = [[str(handle.get_label()) for handle in some] for some in handles]
    return [some if number == 0 or texts[number] != texts[number - 1] else [] for number, some in enumerate(handles)]


def _legend_in(handles: Sequence[Artist]) -> float:
    """The height of a row's legend, with its distance."""
    texts = [str(handle.get_label()) for handle in handles]
    return style.legend_rows_in(texts, style.width_in() - _LEFT_IN - RIGHT_IN) + _LEGEND_GAP_IN if texts else 0.0


def _common_phases(row: FigureSpec) -> tuple[Bar, ...]:
    """The phases that all variants share; those of several could not be told apart."""
    of_variants = {tuple(variant.phases) for variant in row.variants if variant.phases}
    return of_variants.pop() if len(of_variants) == 1 else ()


def _axis_words(row: FigureSpec, row_in: float) -> str:
    """The axis' label in lines that fit the panel's height, with the unit on a separate line."""
    words, _, unit = row.quantity.axis.rpartition(" (")
    size = style.points(9 if current().narrow else 10)
    return f"{style.fitted(words, size, row_in + _GAP_IN, 2)}\n({unit}" if words else style.fitted(unit, size, row_in)
