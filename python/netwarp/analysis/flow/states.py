"""The inner state of congestion controls that export it (docs/modules.md), by flow."""

from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from netwarp.analysis.tuples import flow_of_tuples
from netwarp.store.description import Flow
from netwarp.store.rundir import RunDir


class State(NamedTuple):
    """A variable of one flow's sender over time: `frame` has time_s and value, a row per ACK."""

    flow: Flow
    control: str
    name: str
    frame: pl.DataFrame


def load_states(run: RunDir, flows: Sequence[Flow]) -> list[State]:
    """Load every variable of every flow, in the order of the flows and of the module; empty without exports."""
    variables = run.scan("variables").select("variable_id", "control", "name").collect()
    if variables.is_empty():
        return []
    flow_of = flow_of_tuples(run.scan("tuples").collect(), tuple(flows))
    rows = run.scan("states").filter(pl.col("tuple_id").is_in(list(flow_of))).collect()
    rows = rows.with_columns(pl.col("tuple_id").replace_strict(flow_of, return_dtype=pl.UInt32).alias("flow_id"))
    of_variable = {row["variable_id"]: (row["control"], row["name"]) for row in variables.to_dicts()}
    found = []
    for (flow_id, variable_id), part in rows.group_by("flow_id", "variable_id", maintain_order=True):
        flow = next(one for one in flows if one.id == flow_id)
        control, name = of_variable[variable_id]
        times = (pl.col("time_ns") / 1e9).alias("time_s")
        found.append(State(flow, control, name, part.select(times, pl.col("value").cast(pl.Float64))))
    return found
