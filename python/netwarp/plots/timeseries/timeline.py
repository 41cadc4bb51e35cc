"""The timeline of a run's scenario: when its flows are active, and how its links change."""

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from netwarp.plots import style
from netwarp.plots.colours import colours
from netwarp.plots.timeseries.strip import shortened

_ROW_IN = 0.26
_PANEL_IN = 1.25
_GAP_IN = 0.3
_LEFT_IN, _RIGHT_IN = 1.5, 0.3
_HEAD_IN, _FOOT_IN = 0.78, 0.55
_NAME_CHARS = 20


@dataclass(frozen=True)
class Lifetime:
    """The time in which a flow was active, in seconds."""

    name: str
    start_s: float
    end_s: float


@dataclass(frozen=True)
class StepSeries:
    """A property of a link over time: (from s, value), each of which holds until the next."""

    label: str
    unit: str
    steps: Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Timeline:
    """The lifetimes of a run's flows, and its changes.

    `moments` are (s, words) of changes without a number, such as another queue.
    """

    title: str
    subtitle: str
    duration_s: float
    flows: Sequence[Lifetime]
    series: Sequence[StepSeries]
    moments: Sequence[tuple[float, str]]


def draw(timeline: Timeline) -> Figure:
    """Draw a bar for each flow, a panel below for each changing property, and a row for each other change."""
    rows = len(timeline.flows) + len(timeline.moments)
    bars_in = rows * _ROW_IN
    panels = len(timeline.series)
    height = _HEAD_IN + bars_in + panels * (_PANEL_IN + _GAP_IN) + _FOOT_IN
    figure = style.new_figure(height)
    style.head(figure, timeline.title, timeline.subtitle, 0.14 / style.width_in())
    width = 1 - (_LEFT_IN + _RIGHT_IN) / style.width_in()
    top = height - _HEAD_IN
    left = _LEFT_IN / style.width_in()
    if rows:
        axes = figure.add_axes((left, (top - bars_in) / height, width, bars_in / height))
        shades = colours(len(timeline.flows), False)
        for row, (flow, colour) in enumerate(zip(timeline.flows, shades, strict=True)):
            axes.barh(row, flow.end_s - flow.start_s, left=flow.start_s, height=0.62, color=colour, alpha=0.85)
        for row, (at_s, words) in enumerate(timeline.moments, start=len(timeline.flows)):
            late = at_s > timeline.duration_s / 2
            axes.plot([at_s], [row], "D", color=style.INK, markersize=4)
            pad = timeline.duration_s * (-0.01 if late else 0.01)
            axes.text(at_s + pad, row, words, va="center", ha="right" if late else "left", fontsize=style.points(8.5))
        names = [shortened(flow.name, _NAME_CHARS) for flow in timeline.flows]
        axes.set_yticks(range(rows), [*names, *["change"] * len(timeline.moments)])
        axes.set_ylim(rows - 0.5, -0.5)
        axes.set_xlim(0, timeline.duration_s)
        axes.tick_params(axis="y", length=0)
        axes.grid(False, axis="y")
        axes.spines[["left"]].set_visible(False)
        axes.tick_params(labelbottom=panels == 0)
        top -= bars_in + _GAP_IN
    for series in timeline.series:
        axes = figure.add_axes((left, (top - _PANEL_IN) / height, width, _PANEL_IN / height))
        ats = [at_s for at_s, _ in series.steps] + [timeline.duration_s]
        values = [value for _, value in series.steps]
        axes.plot(ats, [*values, values[-1]], drawstyle="steps-post", color=style.INK, linewidth=1.6)
        axes.set_xlim(0, timeline.duration_s)
        axes.set_ylim(0, max(values) * 1.12 or 1)
        axes.yaxis.set_major_locator(MaxNLocator(4))
        axes.set_ylabel(
            f"{series.label}\n({series.unit})", rotation=0, ha="right", va="center", fontsize=style.points(9)
        )
        axes.tick_params(labelbottom=series is timeline.series[-1])
        top -= _PANEL_IN + _GAP_IN
    figure.axes[-1].set_xlabel("time (s)")
    return figure
