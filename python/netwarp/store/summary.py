"""The summary of a result: one row per run and metric."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from netwarp.store.run_status import RunStatus
from netwarp.values.json_values import Json

if TYPE_CHECKING:
    import polars as pl

    from netwarp.store.documents import PlanJson

CASE = "case"
_EXACT = 2.0**53
"""Up to here each whole number is a float of its own."""


@dataclass(frozen=True)
class PlannedRun:
    """A run of the plan: `point` maps the axes' paths to values, and `case` to the case's name if there are cases."""

    id: str
    seed: int
    point: Mapping[str, Json]

    @property
    def label(self) -> str:
        """The run in words: `flows.bulk.cc = cubic, seed 2`."""
        return ", ".join([*(f"{path} = {axis_text(value)}" for path, value in self.point.items()), f"seed {self.seed}"])


@dataclass(frozen=True)
class RunOutcome:
    """The outcome of a planned run; `metrics` (scope, name, metric, value) is None for a failed one."""

    run: PlannedRun
    status: RunStatus
    reason: str | None
    metrics: "pl.DataFrame | None"


def axes_of(plan: "PlanJson", runs: Sequence[PlannedRun]) -> list[str]:
    """The axes by which runs differ: `case` if there are cases, then the swept paths in the plan's order (`axes`)."""
    found = dict.fromkeys(path for run in runs for path in run.point)
    return list(dict.fromkeys([*([CASE] if CASE in found else []), *map(str, plan.get("axes", ())), *found]))


def planned_runs(plan: "PlanJson") -> list[PlannedRun]:
    """The runs of a plan, each with id, seed, point and perhaps case. Raises KeyError, TypeError if one lacks them."""
    return [
        PlannedRun(
            str(run["id"]),
            int(run["seed"]),
            ({CASE: run["case"]} if run.get("case") is not None else {}) | dict(run.get("point", {})),
        )
        for run in plan["runs"]
    ]


def summary_frame(axes: Sequence[str], outcomes: Sequence[RunOutcome]) -> "pl.DataFrame":
    """Columns: run_id, seed, status, one per axis (its path), scope, name, metric, value; rows in the plan's order.

    A failed run has one row, with scope, name, metric and value null. The type of an axis's column is the common type
    of its values, else text (tables and lists as JSON).
    """
    # Imported lazily here and below: a process that only draws needs the texts of values, not tables.
    import polars as pl

    columns = {axis: axis_series(axis, [o.run.point.get(axis) for o in outcomes]) for axis in axes}
    heads = pl.DataFrame(
        {
            "run_id": pl.Series([o.run.id for o in outcomes], dtype=pl.String),
            "seed": pl.Series([o.run.seed for o in outcomes], dtype=pl.Int64),
            "status": pl.Series([o.status for o in outcomes], dtype=pl.String),
            **columns,
        }
    )
    metrics = [
        o.metrics.select(pl.lit(o.run.id).alias("run_id"), "scope", "name", "metric", "value")
        for o in outcomes
        if o.metrics is not None and o.metrics.height > 0
    ]
    empty = pl.DataFrame(
        schema={"run_id": pl.String, "scope": pl.String, "name": pl.String, "metric": pl.String, "value": pl.Float64}
    )
    return heads.join(pl.concat([empty, *metrics]), on="run_id", how="left", maintain_order="left_right")


def axis_series(axis: str, values: Sequence[Any]) -> "pl.Series":
    """The values of one axis as a column: bool, int, float if all are, else text."""
    import polars as pl

    present = [value for value in values if value is not None]
    kinds = {type(value) for value in present}
    if kinds == {bool}:
        return pl.Series(axis, values, dtype=pl.Boolean)
    if kinds == {int}:
        return pl.Series(axis, values, dtype=pl.Int64)
    if present and kinds <= {int, float}:
        return pl.Series(axis, [None if v is None else float(v) for v in values], dtype=pl.Float64)
    return pl.Series(axis, [None if v is None else axis_text(v) for v in values], dtype=pl.String)


def axis_text(value: Any) -> str:
    """One value of an axis as one line of text: text as it is, other values as JSON.

    A whole number is one without a point, even if others of its axis have fractions (1.1, 2, 3).
    """
    is_line = isinstance(value, str) and value.isprintable()
    if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT:
        value = int(value)
    return value if is_line else json.dumps(value, ensure_ascii=False, sort_keys=True)


def axis_title(path: str) -> str:
    """A short name for an axis: `links.bottleneck.queue` → "bottleneck queue", `changes.0.rate` → "changes 0 rate"."""
    parts = path.split(".")
    return " ".join(parts[1:] if len(parts) > 2 and not parts[1].isdigit() else parts)
