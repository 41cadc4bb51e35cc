"""Figures that stack quantities of the same variants on one time axis, with a column for each stretch of it."""

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
from netwarp.plots.timeseries.figure_spec import FigureSpec, Stack

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
    rows = columns[0]
    wide = style.width_in()
    panel_wide_in = _panel_wide_in(stack)
    handles = [legend_handles(row, wide - _LEFT_IN - 1) for row in rows]
    texts = [[str(handle.get_label()) for handle in some] for some in handles]
    shown = [text and (number == 0 or text != texts[number - 1]) for number, text in enumerate(texts)]
    above = [
        style.legend_rows_in(text, wide - _LEFT_IN - RIGHT_IN) + _LEGEND_GAP_IN if show else 0.0
        for text, show in zip(texts, shown, strict=True)
    ]
    of_variants = {tuple(variant.phases) for variant in rows[0].variants if variant.phases}
    phases = of_variants.pop() if len(of_variants) == 1 else ()  # phases of several variants could not be told apart
    top_in = 0.16 if phases else 0.0
    foot_in = FOOT_IN + (style.line_in(9) if phases else 0.0)
    subtitle = " · ".join([stack.subtitle, *notes])
    head_in = style.head_in(stack.title, subtitle, _LEFT_IN, stack.left_out)
    row_in = style.tall(_ROW_IN)
    height = head_in + top_in + sum(above) + len(rows) * (row_in + _GAP_IN) + foot_in
    figure = style.new_figure(height)
    y = height - head_in
    for number in range(len(rows)):
        y -= above[number]
        if shown[number]:
            style.legend_below(figure, handles[number], _LEFT_IN / wide, y + 0.05, wide - _LEFT_IN - RIGHT_IN)
        y -= row_in + (top_in if number == 0 else 0.0)
        for column, specs in enumerate(columns):
            x = _LEFT_IN + column * (panel_wide_in + _COLUMN_GAP_IN)
            axes = figure.add_axes((x / wide, y / height, panel_wide_in / wide, row_in / height))
            spec = specs[number]
            for variant in spec.variants:
                draw_variant(axes, spec.quantity, variant)
            axes.xaxis.set_major_locator(MaxNLocator(max(3, min(6, int(panel_wide_in / 0.5))), steps=_STEPS))
            finish(axes, spec, 4 if row_in > 1 else 2)
            axes.tick_params(labelbottom=number == len(rows) - 1)
            if number == 0 and phases:
                phases_on_top(axes, phases)
            if number == len(rows) - 1:
                axes.set_xlabel("time (s)")
            if column == 0:
                axes.set_ylabel(_axis_words(spec, row_in))
        y -= _GAP_IN
    if phases:
        strip.phase_legend(figure, min(_LEFT_IN, wide - _PHASES_IN) / wide, 0.05 / height, beside=False)
    style.head(figure, stack.title, subtitle, _LEFT_IN / wide, stack.left_out)
    figure.align_ylabels()
    return figure


def _panel_wide_in(stack: Stack) -> float:
    columns = len(stack.columns)
    return (style.width_in() - _LEFT_IN - RIGHT_IN - _COLUMN_GAP_IN * (columns - 1)) / columns


def _axis_words(row: FigureSpec, row_in: float) -> str:
    """The axis' label in lines that fit the panel's height, with the unit on a separate line."""
    words, _, unit = row.quantity.axis.rpartition(" (")
    size = style.points(9 if current().narrow else 10)
    return f"{style.fitted(words, size, row_in + _GAP_IN, 2)}\n({unit}" if words else style.fitted(unit, size, row_in)
