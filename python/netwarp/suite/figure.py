"""The figure of a suite: a row for each measure, a column for each subject, coloured by verdict, with the medians."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from matplotlib.axes import Axes
from matplotlib.patches import Patch, Rectangle

from netwarp.plots import style
from netwarp.plots.colours import CATEGORICAL, pale
from netwarp.suite.formats import MARKS, number, seeds_of, unit_of
from netwarp.suite.runner import Assessment
from netwarp.suite.verdict import Judged, Verdict

_ROW_IN, _GROUP_IN, _FOOT_IN = 0.2, 0.36, 0.3
_EDGE_IN, _GAP_IN = 0.14, 0.12
_TITLE_CHARACTERS = 80
_NAME_LINES = 4
"""The most lines of a subject's name above its column, where a queue has its options."""
_FILLS = {
    Verdict.HARMS: CATEGORICAL[1],
    Verdict.CONCERN: pale(CATEGORICAL[4]),
    Verdict.PASSES: "#f1f1f1",
    Verdict.BETTER: pale(CATEGORICAL[5]),
    Verdict.REPORTED: "white",
    Verdict.FAILED: style.MUTED,
    Verdict.UNASKED: "white",
}
_WHITE = (Verdict.HARMS, Verdict.FAILED)


@dataclass(frozen=True)
class _Line:
    """A line of the figure: a group's title, or a measure with the words that differ from the line above."""

    top_in: float
    title: str = ""
    case: str = ""
    judged: Judged | None = None


def _named(subjects: list[str], baseline: str) -> str:
    """The subjects' names, or their number if the names, which are above the columns, are too long for a title."""
    names = ", ".join(subjects)
    others = len(subjects) - (baseline in subjects)
    return names if len(names) <= _TITLE_CHARACTERS else f"{others} beside {baseline}"


def draw(assessment: Assessment, stem: Path) -> list[Path]:
    """Draw the figure; return the files. Nothing is drawn if nothing was measured. Raises StoreError."""
    lines, inside_in = _lines(assessment)
    if not lines:
        return []
    baseline = assessment.suite.baseline.name
    title = f"{assessment.suite.title}: {_named([one.name for one in assessment.subjects], baseline)}"
    subtitle = (
        f"median of {seeds_of(assessment)}, coloured by comparison with {baseline}, whose own seeds are the margin"
    )
    shown = [one for one in _legend(baseline) if any(one in row.verdicts.values() for row in assessment.judged)]
    handles = [_handle(one, baseline) for one in shown]
    with style.drawing_wide():
        width_in = style.width_in()
        room_in = width_in - 2 * _EDGE_IN
        foot_in = _FOOT_IN + style.legend_rows_in([str(one.get_label()) for one in handles], room_in)
        grid = _grid(lines, assessment)
        above_in = style.line_in(8) * max(name.count("\n") for name in grid.names)
        head_in = style.head_in(title, subtitle, _EDGE_IN) + above_in
        height_in = head_in + inside_in + foot_in
        figure = style.new_figure(height_in)
        axes = figure.add_axes((0, foot_in / height_in, 1, inside_in / height_in))
        axes.set_xlim(0, width_in)
        axes.set_ylim(inside_in, 0)
        axes.axis("off")
        _draw_lines(axes, lines, assessment, grid)
        style.head(figure, title, subtitle, _EDGE_IN / width_in)
        style.legend_below(figure, handles, _EDGE_IN / width_in, 0.12, room_in)
        return style.save(figure, stem)


def _handle(verdict: Verdict, baseline: str) -> Patch:
    """A colour of the legend, with its meaning."""
    label = f"{MARKS[verdict]} {_legend(baseline)[verdict]}".strip()
    return Patch(facecolor=_FILLS[verdict], edgecolor="#bbbbbb", label=label)


@dataclass(frozen=True)
class _Grid:
    """The columns: positions of the measures' words and of the cells, the width of a cell, the wrapped names above."""

    words_in: float
    cells_in: float
    cell_in: float
    names: tuple[str, ...]


def _grid(lines: Sequence[_Line], assessment: Assessment) -> _Grid:
    size = style.points(8)
    texts = [(one.case, _words(one.judged)) for one in lines if one.judged]
    words_in = _EDGE_IN + max(style.text_in(case, size) for case, _ in texts) + _GAP_IN
    cells_in = words_in + max(style.text_in(words, size) for _, words in texts) + _GAP_IN
    cell_in = (style.width_in() - cells_in - _EDGE_IN) / len(assessment.columns)
    names = [
        style.fitted(one.name, size, cell_in - 0.04, _NAME_LINES, bold=one in assessment.subjects)
        for one in assessment.columns
    ]
    return _Grid(words_in, cells_in, cell_in, tuple(names))


def _draw_lines(axes: Axes, lines: Sequence[_Line], assessment: Assessment, grid: _Grid) -> None:
    """Draw the names of the columns, and every line."""
    size = style.points(8)
    for at, (one, name) in enumerate(zip(assessment.columns, grid.names, strict=True)):
        weight = "bold" if one in assessment.subjects else "normal"
        middle = grid.cells_in + (at + 0.5) * grid.cell_in
        axes.text(middle, 0.16, name, ha="center", va="bottom", fontsize=size, fontweight=weight)
    for line in lines:
        _draw_line(axes, line, [one.name for one in assessment.columns], grid)


def _legend(baseline: str) -> dict[Verdict, str]:
    """The colours in words."""
    return {
        Verdict.HARMS: f"harms others more than {baseline} does",
        Verdict.CONCERN: f"worse than {baseline}, or than a bound",
        Verdict.PASSES: f"like {baseline}",
        Verdict.BETTER: f"better than {baseline}",
        Verdict.REPORTED: "only reported",
        Verdict.FAILED: "failed",
    }


def _lines(assessment: Assessment) -> tuple[list[_Line], float]:
    """The lines from top to bottom, and the height of all."""
    found, top_in = list[_Line](), 0.0
    for title, rows in assessment.groups.items():
        measured = [row for row in rows if row.measure is not None]
        if not measured:
            continue
        found.append(_Line(top_in, title=title))
        top_in += _GROUP_IN
        above = ""
        for row in measured:
            found.append(_Line(top_in, case="" if row.label == above else row.label, judged=row))
            above = row.label
            top_in += _ROW_IN
    return found, top_in


def _words(judged: Judged | None) -> str:
    if judged is None or judged.measure is None:
        return ""
    unit = unit_of(judged.measure)
    return f"{judged.measure.words}{f', {unit}' if unit else ''}"


def _draw_line(axes: Axes, line: _Line, names: Sequence[str], grid: _Grid) -> None:
    size = style.points(8)
    middle = line.top_in + _ROW_IN / 2
    if line.judged is None:
        axes.text(_EDGE_IN, line.top_in + _GROUP_IN - 0.08, line.title, fontsize=style.points(9), fontweight="bold")
        return
    axes.text(_EDGE_IN, middle, line.case, fontsize=size, va="center")
    axes.text(grid.words_in, middle, _words(line.judged), fontsize=size, va="center", color=style.MUTED)
    for at, name in enumerate(names):
        verdict, values = line.judged.verdicts[name], line.judged.values.get(name, ())
        if verdict == Verdict.UNASKED and not values:
            continue
        left = grid.cells_in + at * grid.cell_in
        place = (left + 0.02, line.top_in + 0.01)
        axes.add_patch(Rectangle(place, grid.cell_in - 0.04, _ROW_IN - 0.02, facecolor=_FILLS[verdict], linewidth=0))
        words = f"{MARKS[verdict]} {number(median(values))}".strip() if values else "not measured"
        colour = "white" if verdict in _WHITE else style.INK
        axes.text(left + grid.cell_in / 2, middle, words, fontsize=size, ha="center", va="center", color=colour)
