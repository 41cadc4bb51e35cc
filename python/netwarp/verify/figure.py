"""The figure of a validation: how much of its tolerance each value uses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from netwarp.plots import style
from netwarp.plots.colours import CATEGORICAL, REFERENCE
from netwarp.verify.formats import part_used
from netwarp.verify.row import JUDGED, Checked, Verdict
from netwarp.verify.verifier import Verified

_ROW_IN = 0.19
_ENDS_IN = 1.25
_MOST = 1.6
"""The axis ends here; values beyond it are at its end, as arrows."""
_LOOKS = {
    Verdict.AGREES: (CATEGORICAL[0], "o"),
    Verdict.EXPLAINED: (CATEGORICAL[1], "D"),
    Verdict.MISSES: (CATEGORICAL[3], "X"),
}


def draw(verified: Sequence[Verified], stem: Path) -> list[Path]:
    """Draw a line for each row with its values, each by the part of the tolerance that it uses; return the files.

    Nothing is drawn if no row has a value. Raises StoreError.
    """
    rows = list(_rows(verified))
    if not rows:
        return []
    with style.drawing():
        figure = style.new_figure(_ENDS_IN + _ROW_IN * len(rows))
        height_in = float(figure.get_size_inches()[1])
        names = [checked.row.name for checked in rows]
        left_in = 0.2 + max(style.text_in(name, style.points(9)) for name in names)
        axes = figure.subplots()
        figure.subplots_adjust(
            left=left_in / style.width_in(), right=0.97, top=1 - 0.72 / height_in, bottom=0.45 / height_in
        )
        axes.axvspan(-1, 1, color=style.RATE, alpha=0.5, linewidth=0, zorder=0)
        axes.axvline(0, color=REFERENCE, linewidth=0.8, zorder=1)
        for at, checked in enumerate(rows):
            _points(axes, at, checked)
        axes.set_xlim(-_MOST, _MOST)
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.set_yticks(range(len(rows)), names)
        axes.set_xticks([-1, -0.5, 0, 0.5, 1], ["−1", "−½", "reference", "½", "1"])
        axes.set_xlabel("difference from the reference / tolerance")
        axes.grid(False, axis="y")
        style.head(figure, "How far from the reference", "each value of each seed · grey: within the tolerance", 0.012)
        shown = [verdict for verdict in _LOOKS if any(checked.verdict == verdict for checked in rows)]
        handles = [
            Line2D([], [], color=_LOOKS[one][0], marker=_LOOKS[one][1], linestyle="", label=str(one)) for one in shown
        ]
        figure.legend(handles=handles, loc="upper right", ncols=len(handles), bbox_to_anchor=(0.98, 1.0))
        return style.save(figure, stem)


def _rows(verified: Sequence[Verified]) -> Iterator[Checked]:
    for one in verified:
        for checked in one.rows:
            if checked.verdict in JUDGED:
                yield checked


def _points(axes: Axes, at: int, checked: Checked) -> None:
    colour, marker = _LOOKS[checked.verdict]
    parts = [part_used(checked.row.tolerance, value, one) for value in checked.values for one in value.measured]
    inside = [part for part in parts if abs(part) <= _MOST]
    axes.plot(inside, [at] * len(inside), marker, color=colour, markersize=4, alpha=0.7, linestyle="")
    for part in parts:
        if abs(part) > _MOST:
            edge = (_MOST - 0.04) * (1 if part > 0 else -1)
            axes.plot([edge], [at], ">" if part > 0 else "<", color=colour, markersize=5, clip_on=False)
