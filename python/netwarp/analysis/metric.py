"""Metrics as rows: scope, name, metric, value. A metric that was not measured has no row."""

from collections.abc import Iterable
from dataclasses import dataclass

import polars as pl

from netwarp.store.rundir import METRICS_SCHEMA


@dataclass(frozen=True)
class Metric:
    """One metric; `scope` is `flow`, `queue`, `link`, `node`, `place` or `run`, `metric` has its unit in its name."""

    scope: str
    name: str
    metric: str
    value: float


def rows(scope: str, name: str, values: dict[str, float | int | None]) -> list[Metric]:
    """Return the metrics that have a value, in the given order."""
    return [Metric(scope, name, metric, float(value)) for metric, value in values.items() if value is not None]


def frame(metrics: Iterable[Metric]) -> pl.DataFrame:
    """Metrics as a frame: scope, name, metric, value."""
    listed = list(metrics)
    columns = {
        "scope": [m.scope for m in listed],
        "name": [m.name for m in listed],
        "metric": [m.metric for m in listed],
        "value": [m.value for m in listed],
    }
    return pl.DataFrame(columns, schema=METRICS_SCHEMA)
