"""Energy, goodput, delay and fairness of each point of a control's axis and another one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

import polars as pl

from netwarp.store.run_status import RunStatus
from netwarp.studies.energy_cost.needs import Axes


@dataclass(frozen=True)
class Cost:
    """A point: medians over the seeds. `rtt_ms` is the 95th percentile that other flows, such as pings, see; without
    other flows it is `own_rtt`, that of the flow itself. `jain` is None for a single flow; `seeds` counts the runs."""

    control: str
    other: str
    j_per_mb: float
    goodput_mbps: float
    rtt_ms: float | None
    own_rtt: bool
    jain: float | None
    retransmission_j: float | None
    seeds: int


def costs(summary: pl.DataFrame, axes: Axes) -> Iterator[Cost]:
    """The points in the plan's order, of all good runs that have an energy and a goodput."""
    rows = summary.filter(pl.col("status") == RunStatus.OK)
    found: dict[tuple[str, str], list[dict[tuple[str, str, str], float]]] = {}
    for part in rows.partition_by("run_id", maintain_order=True):
        columns = part.select("scope", "name", "metric", "value").drop_nulls().iter_rows()
        values = {(scope, name, metric): value for scope, name, metric, value in columns}
        if ("run", "", "energy_j_per_mb") in values and ("flow", axes.flow, "goodput_mbps") in values:
            row = part.row(0, named=True)
            found.setdefault((str(row[axes.control]), str(row[axes.other])), []).append(values)
    for (control, other), runs in found.items():
        seen = [_rtt_of_others(run, axes.flow) for run in runs]
        own_rtt = all(rtt is None for rtt in seen)
        yield Cost(
            control=control,
            other=other,
            j_per_mb=median(run["run", "", "energy_j_per_mb"] for run in runs),
            goodput_mbps=median(run["flow", axes.flow, "goodput_mbps"] for run in runs),
            rtt_ms=_median([run.get(("flow", axes.flow, _RTT)) for run in runs] if own_rtt else seen),
            own_rtt=own_rtt,
            jain=_median([run.get(("run", "", "jain_index")) for run in runs]),
            retransmission_j=_median([run.get(("flow", axes.flow, "retransmission_j")) for run in runs]),
            seeds=len(runs),
        )


def _rtt_of_others(values: dict[tuple[str, str, str], float], flow: str) -> float | None:
    """The largest RTT that other flows see in a run; None without other flows."""
    found = (
        value for (scope, name, metric), value in values.items() if _is_other(scope, name, flow) and metric == _RTT
    )
    return max(found, default=None)


def _is_other(scope: str, name: str, flow: str) -> bool:
    return scope == "flow" and name != flow and not name.startswith(f"{flow}.")


_RTT = "rtt_ms_p95"


def _median(values: list[float | None]) -> float | None:
    present = [value for value in values if value is not None]
    return median(present) if present else None
