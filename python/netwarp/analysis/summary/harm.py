"""Harm: the loss of a flow by sharing the path with others, compared with a run in which it was alone.

R. Ware, M. Mukerjee, S. Seshan, J. Sherry: Beyond Jain's Fairness Index: Setting the Bar for the Deployment of
Congestion Control Algorithms, HotNets 2019.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import polars as pl

from netwarp.analysis.summary.selection import is_member
from netwarp.store.run_status import RunStatus
from netwarp.store.summary import CASE, axis_text
from netwarp.values.json_values import Json

_COUNT = re.compile(r"flows\.([^.]+)\.count")
_MORE, _LESS = ("goodput_mbps",), ("rtt_ms_p95", "completion_ms_p95")
_NAMES = {"goodput_mbps": "harm_goodput", "rtt_ms_p95": "harm_rtt_p95", "completion_ms_p95": "harm_completion_p95"}


class _Run(NamedTuple):
    """A good run: its point, and the metrics of the groups of flows that sent data in it."""

    seed: int
    point: Mapping[str, Json]
    values: Mapping[str, Mapping[str, float]]


def with_harm(summary: pl.DataFrame, axes: Sequence[str]) -> pl.DataFrame:
    """Add rows `harm_…` for each flow that shared the path and was alone in another run, after the flow's other rows.

    That run has the same seed and the same values on all axes, except for `case` and the counts of the other flows
    (`flows.NAME.count`, 0 there). If there is no such run, or more than one, there are no rows.
    """
    if CASE not in axes and not any(_COUNT.fullmatch(axis) for axis in axes):
        return summary
    runs = _runs(summary, axes)
    solos: dict[tuple[int, str], list[_Run]] = defaultdict(list)
    for run in runs.values():
        if len(run.values) == 1:
            solos[run.seed, next(iter(run.values))].append(run)
    found = {run_id: list(_harms(run, solos)) for run_id, run in runs.items()}
    parts = []
    for part in summary.partition_by("run_id", maintain_order=True):
        parts.append(part)
        if rows := found.get(part["run_id"][0]):
            names, metrics, values = zip(*rows, strict=True)
            parts.append(
                part.head(1)
                .drop("scope", "name", "metric", "value")
                .join(
                    pl.DataFrame({"name": names, "metric": metrics, "value": values}),
                    how="cross",
                    maintain_order="left_right",
                )
                .with_columns(scope=pl.lit("flow"))
                .select(summary.columns)
            )
    return pl.concat(parts) if parts else summary


def harm(metric: str, alone: float, shared: float) -> float | None:
    """Return the harm, from 0 (none) to 1 (total), below 0 for a gain; None if there was nothing to lose."""
    if metric in _MORE:
        return (alone - shared) / alone if alone else None
    return (shared - alone) / shared if shared else None


def _runs(summary: pl.DataFrame, axes: Sequence[str]) -> dict[str, _Run]:
    names = summary.filter(scope="flow")["name"].unique().to_list()
    groups = [name for name in names if not is_member(name, names)]
    rows = summary.filter(
        pl.col("status") == RunStatus.OK,
        pl.col("scope") == "flow",
        pl.col("metric").is_in([*_MORE, *_LESS]),
        pl.col("name").is_in(groups),
    )
    runs = {}
    for part in rows.partition_by("run_id", maintain_order=True):
        head = part.row(0, named=True)
        values: dict[str, dict[str, float]] = defaultdict(dict)
        for name, metric, value in part.select("name", "metric", "value").iter_rows():
            values[name][metric] = value
        # Echo requests have no goodput: they do not fill a path, and do not count as alone on it.
        sending = {name: metrics for name, metrics in values.items() if "goodput_mbps" in metrics}
        runs[head["run_id"]] = _Run(head["seed"], {axis: axis_text(head[axis]) for axis in axes}, sending)
    return runs


def _harms(run: _Run, solos: Mapping[tuple[int, str], Sequence[_Run]]) -> Iterator[tuple[str, str, float]]:
    if len(run.values) < 2:
        return
    for name, metrics in run.values.items():
        free = {f"flows.{other}.count" for other in run.values if other != name} | {CASE}
        solo = [
            other
            for other in solos.get((run.seed, name), ())
            if all(other.point[axis] == value for axis, value in run.point.items() if axis not in free)
        ]
        if len(solo) != 1:
            continue
        for metric, shared in metrics.items():
            if metric in solo[0].values[name]:
                value = harm(metric, solo[0].values[name][metric], shared)
                if value is not None:
                    yield name, _NAMES[metric], value
