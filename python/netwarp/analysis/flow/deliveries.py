"""Payload as its receiver got it: the bytes that a goodput counts, and their times.

A receiver's own records are exact: each byte counts once, when it arrived (`arrivals.arrows`, `datagrams.arrows`), and
separately when its reader could take it, which is later if bytes before it had been lost. Without them there is the
sender's knowledge: `bytes_acked`, which comes half a round trip later, and after a repair all at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from netwarp.analysis.flow.datagrams import Datagrams
from netwarp.analysis.flow.senders import Sender
from netwarp.analysis.parts import join_arrays, parts_by
from netwarp.analysis.queue.throughput import sampled_per_interval, throughput_per_interval
from netwarp.analysis.thinning import Grid, Thinning
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
        total = np.zeros(len(before))
        some = before > 0
        total[some] = self.total_bytes[before[some] - 1]
        return total


def load_arrivals(
    run: RunDir, flows: tuple[Flow, ...], thinning: Thinning | None = None
) -> tuple[dict[int, Deliveries], dict[int, Deliveries]]:
    """Load the receivers' kernels' records, by flow id: bytes that arrived, and bytes that could be read.

    Flows without arrivals are left out; for results without the latter, the former are used for both. With `thinning`
    only some rows of flows whose lives it has are kept.
    """
    if not run.has_rows("arrivals"):
        return {}, {}
    flow_of = flow_of_tuples(run.scan("tuples").collect(), flows)
    by_id = {flow.id: flow for flow in flows}
    sums: tuple[dict[int, _Sum], dict[int, _Sum]] = {}, {}
    for frame in run.batches("arrivals", ("tuple_id", "time_ns", "new_bytes", "in_order_bytes")):
        rows = frame.filter(pl.col("tuple_id").is_in(list(flow_of))).select(
            pl.col("tuple_id").replace_strict(flow_of, return_dtype=pl.UInt32).alias("flow_id"),
            "time_ns",
            pl.col("new_bytes").cast(pl.Int64),
            pl.coalesce("in_order_bytes", "new_bytes").cast(pl.Int64).alias("readable_bytes"),
        )
        for flow_id, part in parts_by(rows, "flow_id").items():
            few = thinning if thinning is not None and flow_id in thinning.lives else None
            for found, column, finely in zip(sums, ("new_bytes", "readable_bytes"), (True, False), strict=True):
                if flow_id not in found:
                    found[flow_id] = _Sum(few, few.grids(by_id[flow_id], finely=finely) if few else [])
                found[flow_id].add(part["time_ns"], part[column])
    arrived, readable = ({n: one.deliveries() for n, one in found.items() if one.total_bytes} for found in sums)
    return arrived, readable


@dataclass
class _Sum:
    """The sum of bytes over time, after some of a flow's arrivals; with `thinning` of a long run."""

    thinning: Thinning | None
    grids: Sequence[Grid]
    total_bytes: int = 0
    times_ns: list[Times] = field(default_factory=list)
    totals: list[Bytes] = field(default_factory=list)

    def add(self, times_ns: Times, payload_bytes: Bytes) -> None:
        """Add arrivals that are not earlier than those before."""
        some = payload_bytes > 0
        times_ns, totals = times_ns[some], np.cumsum(payload_bytes[some]) + self.total_bytes
        if not len(totals):
            return
        self.total_bytes = int(totals[-1])
        if self.thinning is not None:
            at = self.thinning.kept(times_ns, self.grids)
            times_ns, totals = times_ns[at], totals[at]
        self.times_ns.append(times_ns)
        self.totals.append(totals)

    def deliveries(self) -> Deliveries:
        """The deliveries of a flow, whose parts have been added. Nothing can be added afterwards."""
        return Deliveries(join_arrays(self.times_ns), join_arrays(self.totals))


def of_datagrams(datagrams: Datagrams) -> Deliveries:
    """Payload of a UDP generator's datagrams that arrived, without copies."""
    counted = np.where(datagrams.first, datagrams.payload_bytes, 0)
    return Deliveries(datagrams.received_ns, np.cumsum(counted))


def of_sender(sender: Sender) -> Deliveries:
    """Payload that a sender knows to be delivered."""
    return Deliveries(sender.times_ns, sender.bytes_acked.astype(np.int64), arrived=False, sampled=sender.sampled)
