"""The work of every qdisc of the bottleneck during the TCP test, and whether the discipline under test had a queue."""

import polars as pl

from netwarp.store.findings import Finding, Holds
from netwarp.store.rundir import RunDir
from netwarp.studies.three_node.records import ends_of

SCHEMA = pl.Schema(
    {
        "scenario": pl.String,
        "run": pl.String,
        "qdisc": pl.String,
        "parent": pl.String,
        "length_pkts_mean": pl.Float64,
        "length_pkts_max": pl.UInt32,
        "drops": pl.Int64,
    }
)
_AQM = ("fq_codel", "codel", "red", "pfifo", "pie", "cake")


def queues_of(run: RunDir, scenario: str, number: int) -> pl.DataFrame:
    """A row for each qdisc of the bottleneck's interface toward the server, with its parent's kind (absent: root)."""
    end = ends_of(run.description).get("bottleneck")
    first = min(run.description.flows, key=lambda flow: flow.start_ns, default=None)
    if end is None or first is None:
        return SCHEMA.to_frame()
    during = pl.col("time_ns").is_between(first.start_ns, first.start_ns + first.duration_ns)
    samples = (
        run.scan("queues")
        .filter(during, interface_index=end.interface_index)
        .sort("time_ns", maintain_order=True)
        .collect()
    )
    major = pl.col("parent") & 0xFFFF0000
    kinds = samples.group_by("handle").agg(parent_kind=pl.col("kind").first())
    return (
        samples.with_columns(above=major)
        .join(kinds, left_on="above", right_on="handle", how="left", maintain_order="left")
        .group_by("handle", maintain_order=True)
        .agg(
            qdisc=pl.col("kind").first(),
            parent=pl.col("parent_kind").first(),
            length_pkts_mean=pl.col("length_pkts").mean(),
            length_pkts_max=pl.col("length_pkts").max(),
            drops=pl.col("drops").last().cast(pl.Int64) - pl.col("drops").first().cast(pl.Int64),
        )
        .sort("handle", maintain_order=True)
        .select(scenario=pl.lit(scenario), run=pl.lit(f"run_{number}"), **{n: pl.col(n) for n in list(SCHEMA)[2:]})
        .cast(SCHEMA)
    )


def check_under_netem(queues: pl.DataFrame) -> list[Finding]:
    """Whether a discipline under netem never had a queue; empty if there is none under netem."""
    inner = queues.filter(pl.col("qdisc").is_in(_AQM), parent="netem")
    if inner.is_empty():
        return []
    of = inner.group_by("scenario", "qdisc", maintain_order=True).agg(
        pl.col("length_pkts_mean").mean(), pl.col("length_pkts_max").max(), pl.col("drops").mean()
    )
    seen = [_words(row) for row in of.iter_rows(named=True) if row["length_pkts_max"] or row["drops"]]
    idle = of.filter(length_pkts_max=0, drops=0)["scenario"].to_list()
    parts = [*seen, *([f"never one in {', '.join(idle)}"] if idle else [])]
    judgement = Holds.NO if seen else Holds.YES
    return [Finding("the discipline under netem never sees a queue", judgement, "; ".join(parts))]


def _words(row: dict[str, object]) -> str:
    return (
        f"{row['qdisc']} of {row['scenario']} held {row['length_pkts_mean']:.3g} packets, at most "
        f"{row['length_pkts_max']}, and dropped {row['drops']:.0f}"
    )
