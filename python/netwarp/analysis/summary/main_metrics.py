"""The metrics in the main table of a result, and the queue that they describe."""

from collections.abc import Sequence

import polars as pl

# (scope, metric, heading, digits after the point)
MAIN_METRICS = (
    ("flow", "goodput_mbps", "goodput\nMbit/s", 2),
    ("flow", "rtt_ms_mean", "RTT mean\nms", 1),
    ("flow", "rtt_ms_p95", "RTT p95\nms", 1),
    ("flow", "retransmits", "retrans-\nmits", 0),
    ("flow", "loss_pct", "loss\n%", 2),
    ("flow", "completion_ms_p50", "completion\nmedian ms", 1),
    ("flow", "transfers_incomplete", "not com-\npleted", 0),
    ("queue", "length_pkts_mean", "queue mean\npackets", 1),
    ("queue", "drops", "drops", 0),
    ("link", "utilisation", "utili-\nsation", 3),
)


def busiest_queue(metrics: pl.DataFrame, point: Sequence[str] = ("run_id",)) -> str | None:
    """Return the `link:node` that dropped or marked most, or had the longest queue on average if none did.

    Each of several runs, which differ in the columns `point`, has one vote, divided among the queues that signalled in
    it: a case that moves the congestion elsewhere does not decide for all others. None without queue metrics. Drops and
    marks, in the queue or in a filter before it, signal senders to slow down; in the longest queue packets may only
    wait for their turn.
    """
    value, metric, signals = pl.col("value"), pl.col("metric"), pl.col("signals")
    at_filter = (pl.col("scope") == "place") & pl.col("name").str.contains(":")
    whole = signals.sum().over(point) if point else signals.sum()
    queues = (
        metrics.filter((pl.col("scope") == "queue") | at_filter, metric.is_in(["length_pkts_mean", "drops", "marks"]))
        .with_columns(pl.col("name").str.split(" ").list.first())
        .group_by(*point, "name", maintain_order=True)
        .agg(
            value.filter(metric.is_in(["drops", "marks"])).sum().alias("signals"),
            value.filter(metric == "length_pkts_mean").mean().alias("length"),
        )
        .with_columns(pl.when(whole > 0).then(signals / whole).otherwise(0.0).alias("share"))
        .group_by("name", maintain_order=True)
        .agg(pl.col("share").sum(), pl.col("length").mean())
        .drop_nulls("length")
        .sort("share", "length", descending=True, maintain_order=True)
    )
    return str(queues["name"][0]) if queues.height else None
