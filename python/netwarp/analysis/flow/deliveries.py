"""Payload as its receiver got it: the bytes that a goodput counts, and their times.

A receiver's own records are exact: each byte counts once, when it arrived (`arrivals.arrows`, `datagrams.arrows`), and
separately when its reader could take it, which is later if bytes before it had been lost. Without them there is the
sender's knowledge: `bytes_acked`, which comes half a round trip later, and after a repair all at once.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from netwarp.analysis.flow.datagrams import Datagrams
from netwarp.analysis.flow.senders import Sender
from netwarp.analysis.parts import parts_by
from netwarp.analysis.queue.throughput import sampled_per_interval, throughput_per_interval
from netwarp.analysis.tuples import flow_of_tuples
from netwarp.stats.weighting import Times, Values, Window, growth
from netwarp.store.description import Flow
from netwarp.store.rundir import RunDir

Bytes = NDArray[np.int64]


@dataclass(frozen=True)
class Deliveries:
    """A flow's payload over time: the bytes that had been delivered by each instant, sorted by time.

    Arrivals show what a link carried, readable bytes what the application got.

    `arrived`: from the receiver's records, otherwise from acknowledgements. `sampled`: sampled at intervals, between
    which growth is assumed to be even.
    """

    times_ns: Times
    total_bytes: Bytes
    arrived: bool = True
    sampled: bool = False

    def bytes_in(self, window: Window) -> int | None:
        """Payload delivered in the window; None if nothing was delivered by its end."""
        return growth(self.times_ns, self.total_bytes, window)

    def per_interval(self, window: Window, interval_ns: int) -> tuple[Values, Values]:
        """Goodput in each whole interval of the window: (its middle in s, Mbit/s)."""
        count = sampled_per_interval if self.sampled else throughput_per_interval
        return count(self.times_ns, self.total_bytes, window, interval_ns)

    def by(self, instants_ns: Times) -> Values:
        """Bytes delivered by each of the instants."""
        before = np.searchsorted(self.times_ns, instants_ns, side="right")
        total: Values = np.concatenate([[0], self.total_bytes])[before].astype(np.float64)
        return total


def load_arrivals(run: RunDir, flows: tuple[Flow, ...]) -> tuple[dict[int, Deliveries], dict[int, Deliveries]]:
    """Load the receivers' kernels' records, by flow id: bytes that arrived, and bytes that could be read.

    Flows without arrivals are left out; for results without the latter, the former are used for both.
    """
    if not run.has_rows("arrivals"):
        return {}, {}
    flow_of = flow_of_tuples(run.scan("tuples").collect(), flows)
    readable = pl.coalesce("in_order_bytes", "new_bytes")
    frame = run.scan("arrivals").filter(pl.col("tuple_id").is_in(list(flow_of)))
    frame = frame.select(
        pl.col("tuple_id").replace_strict(flow_of, return_dtype=pl.UInt32).alias("flow_id"),
        "time_ns",
        pl.col("new_bytes").cast(pl.Int64),
        readable.cast(pl.Int64).alias("readable_bytes"),
    )
    parts = parts_by(frame.collect(), "flow_id")
    arrived, readable_of = (
        {flow_id: found for flow_id, part in parts.items() if (found := _sum_of(part["time_ns"], part[column]))}
        for column in ("new_bytes", "readable_bytes")
    )
    return arrived, readable_of


def _sum_of(times_ns: Times, payload_bytes: Bytes) -> Deliveries | None:
    """The sum of the bytes over time; None if it is 0."""
    some = payload_bytes > 0
    return Deliveries(times_ns[some], np.cumsum(payload_bytes[some])) if some.any() else None


def of_datagrams(datagrams: Datagrams) -> Deliveries:
    """Payload of a UDP generator's datagrams that arrived, without copies."""
    counted = np.where(datagrams.first, datagrams.payload_bytes, 0)
    return Deliveries(datagrams.received_ns, np.cumsum(counted))


def of_sender(sender: Sender) -> Deliveries:
    """Payload that a sender knows to be delivered."""
    return Deliveries(sender.times_ns, sender.bytes_acked.astype(np.int64), arrived=False, sampled=sender.sampled)
