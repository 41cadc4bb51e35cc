"""Every metric of the connection monitor over time, compared as the figures are, and a table of the differences.

`connection-monitor/differences.csv` has the value of each run, flow and metric (the mean of its samples, for counters
the last), in the unit of its column, beside that of the baseline, if the scenario names one. A run that failed, for
example because a flow moved no data, has one row with the reason and no values, and no curve.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from netwarp.plots.timeseries.curves import RunCurves
from netwarp.plots.timeseries.figure_spec import Curve, Quantity
from netwarp.plots.timeseries.result import draw_comparisons
from netwarp.store.files import make_folder, write_atomic
from netwarp.store.result import ResultDir
from netwarp.store.rundir import RunDir
from netwarp.store.summary import CASE, axis_series
from netwarp.studies.connection_monitor.analysis import METRICS, Monitored, monitored

FOLDER = "connection-monitor"


def write(result: ResultDir, *, figures: bool = True) -> list[Path]:
    """Write the table and, if `figures`, a figure for each metric, flow and comparison. Raises StoreError."""
    folder = make_folder(result.path / FOLDER)
    table = differences(result)
    write_atomic(folder / "differences.csv", table.write_csv)
    drawn = draw_comparisons(result, curves_of=_curves, alone=False) if figures else []
    return [folder / "differences.csv", *drawn]


def differences(result: ResultDir) -> pl.DataFrame:
    """The table: run_id, seed, status, reason, the axes, flow, metric, unit, value, baseline, difference_pct."""
    rows = list(_rows(result))
    baselines = {
        (_elsewhere(row), row["seed"], row["flow"], row["metric"]): row["value"]
        for row in rows
        if result.baseline is not None and row["point"].get(CASE) == result.baseline
    }
    for row in rows:
        usual = baselines.get((_elsewhere(row), row["seed"], row["flow"], row["metric"]))
        known = usual is not None and row["value"] is not None
        row["baseline"] = usual
        row["difference_pct"] = 100 * (row["value"] / usual - 1) if known and usual else None
    axes = [axis_series(axis, [row["point"].get(axis) for row in rows]) for axis in result.axes]
    text, number = pl.String, pl.Float64
    head = {"run_id": text, "seed": pl.Int64, "status": text, "reason": text}
    tail = {"flow": text, "metric": text, "unit": text, "value": number, "baseline": number, "difference_pct": number}
    frame = pl.DataFrame(rows, schema={**head, **tail, "point": pl.Object}).drop("point")
    return frame.select(*head, *axes, *tail)


def _rows(result: ResultDir) -> Iterator[dict[str, Any]]:
    for outcome in result.outcomes():
        run = outcome.run
        row = {"run_id": run.id, "seed": run.seed, "status": outcome.status, "reason": outcome.reason}
        row |= {"point": run.point, "flow": None, "metric": None, "unit": None, "value": None}
        if outcome.metrics is None:
            yield row
            continue
        for flow, samples in monitored(result.run(run.id)).items():
            for metric in METRICS:
                known = samples[metric.column].drop_nulls()
                value = (known[-1] if metric.counter else known.mean()) if known.len() else None
                yield row | {"flow": flow, "metric": metric.column, "unit": metric.unit, "value": value}


def _elsewhere(row: dict[str, Any]) -> str:
    """The values of a run on all axes but the case."""
    return repr({path: value for path, value in row["point"].items() if path != CASE})


def _curves(run: RunDir) -> RunCurves:
    """A quantity for each metric and group of flows, with a curve for each flow of the group."""
    groups = {flow.name: flow.group for flow in run.description.flows}
    curves: dict[Quantity, list[Curve]] = {}
    for flow, samples in monitored(run).items():
        for metric in METRICS:
            known = samples.select("time_s", metric.column).drop_nulls()
            if known.height > 1:
                curve = Curve(known["time_s"].to_numpy(), known[metric.column].to_numpy() * metric.factor)
                curves.setdefault(_quantity(metric, groups[flow], run.description.sample_ns), []).append(curve)
    return RunCurves(curves, {})


def _quantity(metric: Monitored, group: str, sample_ns: int) -> Quantity:
    every = f"{sample_ns / 1e9:g} s" if sample_ns >= 10**9 else f"{sample_ns / 1e6:g} ms"
    stem = f"monitor-{metric.column.removesuffix('_us').removesuffix('_pkts').removesuffix('_bytes')}-{group}"
    label = (
        f"{metric.title[0].lower() if not metric.title.startswith('RTT') else 'R'}{metric.title[1:]} ({metric.shown})"
    )
    how = f"tcp_info's {metric.column.removesuffix('_pkts')}, sampled each {every}"
    return Quantity(stem, f"{metric.title} of {group}", how, label, False, group)
