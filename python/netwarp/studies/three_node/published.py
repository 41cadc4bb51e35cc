"""The published numbers beside the study's scripts' results of our records, and our measurements."""

from collections.abc import Sequence
from importlib import resources

import polars as pl

from netwarp.studies.three_node.columns import PCAP, SCRIPTS, SUMMARY
from netwarp.studies.three_node.tables import Condition

SCHEMA = pl.Schema(
    {
        "scenario": pl.String,
        "metric": pl.String,
        "published": pl.Float64,
        "scripts": pl.Float64,
        "scripts_min": pl.Float64,
        "scripts_max": pl.Float64,
        "ratio": pl.Float64,
        "ours": pl.Float64,
    }
)


def published() -> dict[str, dict[str, float]]:
    """The published tables by scenario and column, in the printed units."""
    with resources.as_file(resources.files("netwarp.studies.three_node") / "data" / "published.csv") as path:
        rows = pl.read_csv(path).iter_rows(named=True)
        return {row["scenario"]: {name: row[name] for name in row if name != "scenario"} for row in rows}


def beside(conditions: Sequence[Condition]) -> pl.DataFrame:
    """A row for each published scenario and metric.

    `scripts` is the same quantity of our runs by the study's scripts, in its unit: mean, minimum and maximum over the
    repetitions. `ratio` is that mean divided by the published number, absent if this is 0. `ours` is by our definition
    and in our unit.
    """
    ours = {condition.name: condition for condition in conditions}
    rows = []
    for name, values in published().items():
        for metric in (metric for metric in (*SUMMARY, *PCAP) if metric in values):
            found = ours[name].of(SCRIPTS.get(metric, metric)) if name in ours else []
            mean = sum(found) / len(found) if found else None
            ratio = mean / values[metric] if mean is not None and values[metric] else None
            spread = (min(found), max(found)) if found else (None, None)
            own = ours[name].mean(metric) if name in ours else None
            rows.append((name, metric, values[metric], mean, *spread, ratio, own))
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")
