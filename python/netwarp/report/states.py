"""The page's figures of several states over time: RTT, queue and window of a flow, BBR, interfaces, iperf3."""

import csv
import io
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from netwarp.plots import style
from netwarp.plots.timeseries.comparison import run_sets
from netwarp.plots.timeseries.figure_spec import Curve, FigureSpec, Panel, Stack, Variant
from netwarp.plots.timeseries.kinds import KINDS
from netwarp.plots.timeseries.result import Figure, kind_figures
from netwarp.plots.timeseries.series import reduce_series
from netwarp.plots.timeseries.tasks import figure_of
from netwarp.report.figures import Drawn
from netwarp.report.svg import inline
from netwarp.store.result import ResultDir

_MAX_SETS = 4
"""The most comparisons that are searched for each kind; more would read the records of a whole study."""
_COLUMNS = 220
_MAX_BYTES = 450_000


def state_figures(result: ResultDir) -> tuple[list[Drawn], list[str]]:
    """The first figure of each kind that the records have, and commands for the others."""
    drawn: dict[str, Drawn] = {}
    left: dict[str, None] = {}
    for kind, figure in _figures(result):
        if kind not in drawn:
            spec = _short(figure.spec)
            title = spec.title if isinstance(spec, Stack) else spec.quantity.title
            with style.drawing():
                svg = inline(figure_of(spec, alone=figure.alone), f"s{len(drawn)}", f"{title}; {spec.subtitle}")
            if len(svg) <= _MAX_BYTES:
                drawn[kind] = Drawn(figure.stem, title, svg, _csv(spec))
                continue
        left[f"netwarp plot DIR '{kind}*'"] = None
    return [drawn[kind.prefix] for kind in KINDS if kind.prefix in drawn], list(left)


def _figures(result: ResultDir) -> Iterator[tuple[str, Figure]]:
    """Figures, each with the prefix of its kind's names."""
    for run_set in islice(run_sets(result), _MAX_SETS):
        for kind in (kind for kind in KINDS if kind.in_report):
            yield from ((kind.prefix, figure) for figure in kind_figures(kind, result, run_set))


def _short(spec: FigureSpec | Stack) -> FigureSpec | Stack:
    """The figure with as many samples as the page shows."""
    if isinstance(spec, Stack):
        return replace(spec, columns=[[_short_spec(row) for row in column] for column in spec.columns])
    return _short_spec(spec)


def _short_spec(spec: FigureSpec) -> FigureSpec:
    panels = [Panel(panel.heading, [_short_variant(one) for one in panel.variants]) for panel in spec.panels]
    return replace(spec, variants=[_short_variant(one) for one in spec.variants], panels=panels)


def _short_variant(variant: Variant) -> Variant:
    return replace(
        variant, curves=[Curve(*reduce_series(curve.times, curve.values, _COLUMNS)) for curve in variant.curves]
    )


def _csv(spec: FigureSpec | Stack) -> str:
    """Every sample of the figure as CSV: quantity, run, time, value."""
    held = io.StringIO()
    writer = csv.writer(held, lineterminator="\n")
    writer.writerow(["quantity", "panel", "curve", "time_s", "value"])
    for row in (row for column in spec.columns for row in column) if isinstance(spec, Stack) else (spec,):
        panels = [Panel("", row.variants)] if isinstance(spec, Stack) else row.shown_alone
        for panel in panels:
            for variant in panel.variants:
                head = [row.quantity.axis, panel.heading, variant.label]
                for curve in variant.curves:
                    rows = zip(curve.times.tolist(), curve.values.tolist(), strict=True)
                    writer.writerows([*head, f"{time:.6g}", f"{value:.6g}"] for time, value in rows)
    return held.getvalue()
