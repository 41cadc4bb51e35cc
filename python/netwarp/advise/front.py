"""The Pareto front of two measures, over all candidates that ran."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from netwarp.advise.advice import Advice, Place
from netwarp.advise.candidates import NOW
from netwarp.advise.criteria import MEASURES, Measure
from netwarp.plots import style
from netwarp.plots.colours import CATEGORICAL, REFERENCE

_OF_CRITERION = {
    "latency": "rtt_p95",
    "throughput": "goodput",
    "fairness": "fairness",
    "calls": "call_r",
    "web": "web_p95",
    "energy": "energy",
}
_HEIGHT_IN, _LEFT, _BOTTOM_IN, _HEAD_IN = 5.2, 0.1, 0.6, 1.1
_MAX_NAMES = 9
_DECADE = 8.0
"""A scale is logarithmic from this ratio of the highest to the lowest value."""


@dataclass(frozen=True)
class Front:
    """Two measures, the candidates that have both, and the names of those on the front, which no other dominates."""

    x: Measure
    y: Measure
    places: Sequence[Place]
    names: Sequence[str]


def front_of(advice: Advice) -> Front | None:
    """The front of the two criteria with the highest weights, or of one and goodput or RTT; None without two."""
    wanted = sorted(advice.weights, key=lambda name: -advice.weights[name])
    wanted += [name for name in ("throughput", "latency") if name not in wanted]
    there = {name for place in advice.places for name in place.values}
    measures = [MEASURES[_OF_CRITERION[name]] for name in wanted if _OF_CRITERION[name] in there][:2]
    if len(measures) < 2:
        return None
    x, y = measures
    places = [one for one in advice.places if _finite(one, x) and _finite(one, y)]
    names = [one.name for one in places if not any(_dominates(other, one, x, y) for other in places)]
    return Front(x, y, places, names)


def _finite(place: Place, measure: Measure) -> bool:
    return math.isfinite(place.values.get(measure.name, math.inf))


def _dominates(one: Place, other: Place, *measures: Measure) -> bool:
    """Whether one is at least as good in all and better in one."""
    gains = [(one.values[m.name] - other.values[m.name]) * (1 if m.higher else -1) for m in measures]
    return all(gain >= 0 for gain in gains) and any(gain > 0 for gain in gains)


def draw(advice: Advice, front: Front) -> Figure:
    """Draw a point for each candidate, filled for finalists, and the front as a line; call inside `style.drawing()`."""
    figure = style.new_figure(_HEIGHT_IN)
    axes = figure.add_axes((_LEFT, _BOTTOM_IN / _HEIGHT_IN, 0.97 - _LEFT, 1 - (_BOTTOM_IN + _HEAD_IN) / _HEIGHT_IN))
    axes.margins(0.08)
    ordered = sorted((one for one in front.places if one.name in front.names), key=lambda one: one.values[front.x.name])
    axes.plot(*_points(ordered, front), color=REFERENCE, linewidth=1.2, linestyle="--", zorder=1)
    for one in front.places:
        x, y = one.values[front.x.name], one.values[front.y.name]
        colour = CATEGORICAL[1] if one.name == advice.choice.name else style.INK if one.name == NOW else CATEGORICAL[0]
        face = colour if one.finalist else "none"
        size = 70 if one.name in (advice.choice.name, NOW) else 36
        axes.scatter([x], [y], s=size, facecolors=face, edgecolors=colour, linewidths=1.2, zorder=2)
    for measure, scale, label in (
        (front.x, axes.set_xscale, axes.set_xlabel),
        (front.y, axes.set_yscale, axes.set_ylabel),
    ):
        values = [one.values[measure.name] for one in front.places]
        if min(values) > 0 and max(values) / min(values) >= _DECADE:
            scale("log")
        label(f"{measure.words}{f' ({measure.unit})' if measure.unit else ''}")
    _name(axes, advice, front)
    better = f"better: {'right' if front.x.higher else 'left'} and {'up' if front.y.higher else 'down'}"
    subtitle = f"in the environment as described; filled: finalists; dashed: the Pareto front; {better}"
    style.head(figure, "What a gain in the one costs in the other", subtitle, _LEFT)
    return figure


def _points(places: Sequence[Place], front: Front) -> tuple[list[float], list[float]]:
    return [one.values[front.x.name] for one in places], [one.values[front.y.name] for one in places]


def _name(axes: object, advice: Advice, front: Front) -> None:
    """Write names beside the points of the choice, the present configuration and the front, as many as are legible.

    If points are close together, each later name moves down a line.
    """
    wanted = [advice.choice.name, NOW, *front.names]
    chosen = [one for one in front.places if one.name in wanted]
    chosen.sort(key=lambda one: wanted.index(one.name))
    taken: list[tuple[float, float]] = []
    figure = axes.figure  # type: ignore[attr-defined]
    figure.canvas.draw()
    for one in chosen[:_MAX_NAMES]:
        point = one.values[front.x.name], one.values[front.y.name]
        x, y = axes.transData.transform(point)  # type: ignore[attr-defined]
        middle = axes.bbox.x0 + axes.bbox.width / 2  # type: ignore[attr-defined]
        side = -1 if x > middle else 1
        line = 1.35 * style.points(8.5) * figure.dpi / 72
        at = y
        while any(abs(at - other) < line and abs(x - beside) < axes.bbox.width / 2 for beside, other in taken):  # type: ignore[attr-defined]
            at -= line
        taken.append((x, at))
        axes.annotate(  # type: ignore[attr-defined]
            one.name, point, xytext=(side * 8, (at - y) * 72 / figure.dpi), textcoords="offset points",
            ha="right" if side < 0 else "left", va="center", fontsize=style.points(8.5), color=style.INK,
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.8},
        )  # fmt: skip
