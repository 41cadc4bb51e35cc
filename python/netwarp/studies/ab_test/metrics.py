"""The metrics of an experiment: their names, their units, and the value of each connection of a recording."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

MIN_SAMPLES = 2
"""The fewest samples of a connection: a rate needs two instants."""


@dataclass(frozen=True)
class Metric:
    """A metric: its name for people, its unit, the columns of a recording that it needs, and its value for a
    connection, an aggregate over the connection's samples in the order of time. It is null or NaN if it cannot be
    measured.
    """

    title: str
    unit: str
    columns: tuple[str, ...]
    value: pl.Expr


def _increase(column: str) -> pl.Expr:
    """How much a counter grew from a connection's first sample to its last."""
    numbers = pl.col(column).drop_nulls().cast(pl.Float64)
    return numbers.last() - numbers.first()


_DURATION_S = pl.col("time_s").last() - pl.col("time_s").first()
METRICS: Mapping[str, Metric] = {
    "goodput_mbps": Metric("goodput", "Mbit/s", ("bytes_acked",), _increase("bytes_acked") * 8e-6 / _DURATION_S),
    "received_mbps": Metric(
        "goodput at the receiver", "Mbit/s", ("bytes_received",), _increase("bytes_received") * 8e-6 / _DURATION_S
    ),
    "rtt_ms": Metric("mean RTT", "ms", ("rtt_us",), pl.col("rtt_us").cast(pl.Float64).mean() / 1e3),
    "retransmitted_pct": Metric(
        "retransmitted bytes",
        "%",
        ("bytes_retrans", "bytes_sent"),
        100 * _increase("bytes_retrans") / _increase("bytes_sent"),
    ),
}
