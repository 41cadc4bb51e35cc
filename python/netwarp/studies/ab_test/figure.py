"""The figure: metrics of a flow of each arm at each share of treated flows, a panel for each metric and point.

Within a panel the distance of the two curves at a share is the result of an experiment at that share; the grey line
from the control's first point to the treated flows' last is the effect of treating all.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from netwarp.plots import style
from netwarp.plots.colours import CATEGORICAL, REFERENCE
from netwarp.store.result import ResultDir
from netwarp.studies.ab_test.interference import QUANTITIES, Effects
from netwarp.studies.ab_test.needs import ALL, CONTROL, NONE, TREATED

_PANEL_IN, _GAP_IN, _ROW_GAP_IN, _LEFT_IN, _RIGHT_IN, _FOOT_IN = 1.75, 0.62, 0.95, 0.62, 0.15, 0.55
_COLOURS = {CONTROL: CATEGORICAL[0], TREATED: CATEGORICAL[1]}
_ROOM = 0.12


def draw(effects: Sequence[Effects], result: ResultDir, stem: Path) -> list[Path]:
    """Draw the figure; return the files. Raises StoreError."""
    places = list(dict.fromkeys(one.place for one in effects))
    metrics = [metric for metric in QUANTITIES if any(one.metric == metric for one in effects)]
    title = "Does an experiment at a part of the flows predict all of them?"
    seeds = max(one.seeds for one in effects)
    subtitle = f"{result.plan.get('name', '')} · " + ("one run each" if seeds == 1 else f"mean of {seeds} runs")
    handles: list[Artist] = [_handle(name, _control_of(result, name), _COLOURS[name]) for name in (CONTROL, TREATED)]
    handles.append(Line2D([], [], color=REFERENCE, linestyle=(0, (4, 2)), label="effect of treating all"))
    with style.drawing_wide():
        wide_in = style.width_in() - _LEFT_IN - _RIGHT_IN
        panel_in = (wide_in - _GAP_IN * (len(metrics) - 1)) / len(metrics)
        head_in = style.head_in(title, subtitle, 0.14)
        legend_in = style.legend_rows_in([str(one.get_label()) for one in handles], wide_in)
        height_in = head_in + len(places) * (_PANEL_IN + _ROW_GAP_IN) + _FOOT_IN - 0.35 + legend_in
        figure = style.new_figure(height_in)
        for down, place in enumerate(places):
            top_in = head_in + down * (_PANEL_IN + _ROW_GAP_IN) + 0.5
            figure.text(0.14 / style.width_in(), 1 - (top_in - 0.38) / height_in, place, fontsize=10, fontweight="bold")
            for across, metric in enumerate(metrics):
                box = (
                    (_LEFT_IN + across * (panel_in + _GAP_IN)) / style.width_in(),
                    1 - (top_in + _PANEL_IN) / height_in,
                    panel_in / style.width_in(),
                    _PANEL_IN / height_in,
                )
                axes = figure.add_axes(box)
                for one in effects:
                    if (one.place, one.metric) == (place, metric):
                        _panel(axes, one, panel_in, named=down == len(places) - 1)
        style.legend_below(figure, handles, _LEFT_IN / style.width_in(), 0.06, wide_in)
        style.head(figure, title, subtitle, 0.14 / style.width_in())
        return style.save(figure, stem)


def _panel(axes: Axes, one: Effects, panel_in: float, *, named: bool) -> None:
    quantity = QUANTITIES[one.metric]
    for name, colour in _COLOURS.items():
        means = one.means[name]
        axes.plot(
            [100 * share for share in means], list(means.values()), "o-", color=colour, markersize=4, clip_on=False
        )
    ends = [one.means[CONTROL][NONE], one.means[TREATED][ALL]]
    axes.plot([0, 100], ends, color=REFERENCE, linestyle=(0, (4, 2)), zorder=1)
    values = [value for means in one.means.values() for value in means.values()]
    room = (max(values) - min(values)) * _ROOM or abs(max(values)) * _ROOM or 1.0
    axes.set_ylim(max(min(values) - room, 0.0 if min(values) >= 0 else min(values) - room), max(values) + room)
    axes.set_xlim(-4, 104)
    axes.set_xticks([0, 50, 100])
    axes.tick_params(labelsize=style.points(8.5))
    axes.locator_params(axis="y", nbins=5)
    words = f"{quantity.title} ({quantity.unit})"
    axes.set_title(style.fitted(words, 8.5, panel_in, 1), fontsize=8.5, loc="left", color=style.MUTED)
    if named:
        axes.set_xlabel("treated flows (%)", fontsize=style.points(9))


def _control_of(result: ResultDir, group: str) -> str:
    """The congestion control of a group's flows; empty if they have several, or none that is known."""
    flows = [flow for run in result.good for flow in result.run(run.id).description.flows]
    found = {flow.cc for flow in flows if flow.group == group}
    return found.pop() if len(found) == 1 else ""


def _handle(name: str, control: str, colour: str) -> Line2D:
    words = f"{name} flows ({control})" if control else f"{name} flows"
    return Line2D([], [], color=colour, marker="o", markersize=4, label=words)
