"""The page's static figures as SVG, each with its data, and the commands for figures that are not drawn."""

import csv
import io
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from netwarp.plots import style
from netwarp.plots.charts.chart import Chart, series_text
from netwarp.plots.charts.kinds import draw_chart
from netwarp.plots.charts.metric import charts
from netwarp.plots.charts.overview import wishes
from netwarp.plots.timeseries import timeline
from netwarp.plots.timeseries.timeline import Lifetime, StepSeries, Timeline
from netwarp.report.svg import inline
from netwarp.stats.weighting import cumulative
from netwarp.store.errors import SelectionError
from netwarp.store.result import ResultDir
from netwarp.store.rundir import RunDir
from netwarp.store.summary import axis_text

MAX_FIGURES = 14
_MAX_CURVES = 12
_MAX_ROWS = 24
_MAX_SERIES = 6


@dataclass(frozen=True)
class Drawn:
    """A figure in the page: a name for its files, its title, its SVG, and its data as CSV."""

    stem: str
    title: str
    svg: Markup
    data: str


def static_figures(result: ResultDir, first: RunDir) -> tuple[list[Drawn], list[str]]:
    """The figures of a result, with the timeline of the run `first`, and commands for figures that are left out."""
    figures: list[Drawn] = []
    left: list[str] = []
    with style.drawing():
        if (timeline_figure := _timeline(first)) is not None:
            figures.append(timeline_figure)
        for wish in wishes(result):
            if len(figures) >= MAX_FIGURES:
                left.append(wish.command)
                continue
            try:
                for stem, kind, chart in charts(result, wish.metric, wish.by, wish.kind):
                    if kind == "cdf" and len(chart.spread) > _MAX_CURVES:
                        left.append(wish.command)
                    elif len(figures) < MAX_FIGURES:
                        key = f"f{len(figures)}"
                        svg = inline(draw_chart(chart), key, f"{chart.title}; {chart.subtitle}")
                        figures.append(Drawn(stem, chart.title, svg, _csv(chart)))
            except SelectionError:
                continue  # no usable run has this metric
    return figures, list(dict.fromkeys(left))


def _csv(chart: Chart) -> str:
    """The values of a chart as CSV: a line for each run of a cell, or the cumulative curve of a distribution."""
    held = io.StringIO()
    writer = csv.writer(held, lineterminator="\n")
    head = [chart.axis_label, *([chart.series_label] if chart.series_label else [])]
    writer.writerow([*head, chart.value_label, *(["share at or below"] if chart.spread else [])])
    for x in chart.xs:
        for series in chart.series:
            start = [_text(x), *([series_text(series)] if chart.series_label else [])]
            if (spread := chart.spread.get((x, series))) is not None:
                for value, share in zip(*cumulative(spread), strict=True):
                    writer.writerow([*start, f"{value:.6g}", f"{share:.6g}"])
            else:
                for value in chart.cells.get((x, series), ()):
                    writer.writerow([*start, f"{value:.9g}"])
    return held.getvalue()


def _text(value: Any) -> str:
    return "" if value is None else axis_text(value)


def _timeline(run: RunDir) -> Drawn | None:
    """The timeline of flows and changes, if there are any; the first ones if a run has too many."""
    what, network = run.description, run.network
    end_s = what.duration_ns / 1e9
    lives: dict[str, Lifetime] = {}
    for flow in what.flows:
        start, stop = flow.start_ns / 1e9, min((flow.start_ns + flow.duration_ns) / 1e9, end_s)
        before = lives.get(flow.group, Lifetime(flow.group, start, stop))
        lives[flow.group] = Lifetime(flow.group, min(before.start_s, start), max(before.end_s, stop))
    uneven = any(life.start_s > 0.05 * end_s or life.end_s < 0.95 * end_s for life in lives.values())
    series = {
        (link.name, one.name, one.steps): StepSeries(
            f"{link.name}\n{one.name}", one.unit, [(at_ns / 1e9, value) for at_ns, value in one.steps]
        )
        for link in network.links
        for direction in link.directions
        for one in direction.series
    }
    moments = [(change.at_ns / 1e9, change.what) for change in what.changes if "queue " in change.what]
    if not (uneven or series or moments):
        return None
    shown = list(lives.values())[:_MAX_ROWS]
    drawn = Timeline(
        "What happens when",
        f"{what.scenario} · flows, and what changes on the links",
        end_s,
        shown,
        list(series.values())[:_MAX_SERIES],
        moments[:_MAX_ROWS],
    )
    return Drawn("timeline", drawn.title, inline(timeline.draw(drawn), "timeline", drawn.title), _timeline_csv(drawn))


def _timeline_csv(drawn: Timeline) -> str:
    held = io.StringIO()
    writer = csv.writer(held, lineterminator="\n")
    writer.writerow(["what", "from_s", "to_s", "value", "unit"])
    for life in drawn.flows:
        writer.writerow([life.name, f"{life.start_s:.6g}", f"{life.end_s:.6g}", "", "flow"])
    for one in drawn.series:
        ends = [at_s for at_s, _ in one.steps[1:]] + [drawn.duration_s]
        for (at_s, value), stop in zip(one.steps, ends, strict=True):
            writer.writerow([one.label.replace("\n", " "), f"{at_s:.6g}", f"{stop:.6g}", f"{value:.6g}", one.unit])
    for at_s, words in drawn.moments:
        writer.writerow([words, f"{at_s:.6g}", "", "", "change"])
    return held.getvalue()
