"""The published numbers, and ours beside them."""

from collections.abc import Sequence
from importlib import resources

import polars as pl

from netwarp.views.three_node.columns import PCAP, SUMMARY
from netwarp.views.three_node.tables import Condition

SCHEMA = pl.Schema(
    {
        "scenario": pl.String,
        "metric": pl.String,
        "published": pl.Float64,
        "ours": pl.Float64,
        "ours_min": pl.Float64,
        "ours_max": pl.Float64,
        "ratio": pl.Float64,
    }
)
_PACKETS = 1024
"""The published `ss_avg_cwnd` is packets divided by 1024, though it is called kB."""
_GAPS = 1.5
"""The published mean gap is of three captures, of which the server's, which has none, counts as 0."""
_FACTORS = {"ss_avg_cwnd": _PACKETS, "gap_avg_ms": _GAPS}


def published() -> dict[str, dict[str, float]]:
    """The published tables by scenario and column, in our units."""
    with resources.as_file(resources.files("netwarp.views.three_node") / "data" / "published.csv") as path:
        rows = pl.read_csv(path).iter_rows(named=True)
        return {
            row["scenario"]: {name: row[name] * _FACTORS.get(name, 1.0) for name in row if name != "scenario"}
            for row in rows
        }


def beside(conditions: Sequence[Condition]) -> pl.DataFrame:
    """A row for each scenario and metric that was published: that number, and ours where there is one.

    `ratio` is ours divided by theirs, absent where theirs is 0.
    """
    ours = {condition.name: condition for condition in conditions}
    rows = []
    for name, values in published().items():
        for metric in (metric for metric in (*SUMMARY, *PCAP) if metric in values):
            found = ours[name].of(metric) if name in ours else []
            mean = sum(found) / len(found) if found else None
            ratio = mean / values[metric] if mean is not None and values[metric] else None
            spread = (min(found), max(found)) if found else (None, None)
            rows.append((name, metric, values[metric], mean, *spread, ratio))
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")
