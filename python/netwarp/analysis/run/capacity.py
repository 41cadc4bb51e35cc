"""A check after every run that no goodput exceeds the capacity of its flow's links, in total and in each interval.

A higher goodput counts bytes that did not arrive in its interval, so that nothing derived from it can be trusted.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import polars as pl

from netwarp.analysis.flow.flows import FlowData, load_flows
from netwarp.analysis.parts import grouped
from netwarp.analysis.queue.throughput import capacity_until
from netwarp.analysis.run.series import interval_ns, whole_run
from netwarp.analysis.tuples import flow_of_tuples
from netwarp.stats.weighting import Times, Values
from netwarp.store.codes import Fate
from netwarp.store.description import End
from netwarp.store.rundir import RunDir
from netwarp.values.constants import (
    ETHERNET_HEADER_BYTES,
    IP_HEADER_BYTES,
    SCTP_HEADER_BYTES,
    TCP_HEADER_BYTES,
    UDP_HEADER_BYTES,
)

_MAX_MTU = 65536
"""The MTU of an interface that is not an end of a link, such as a loopback."""


@dataclass(frozen=True)
class Bound:
    """The bound that a link on a flow's path sets: its rate at the time when a packet that arrives now left its queue.

    A packet takes from `least_ns` to `most_ns` from there to the receiver. A frame that began earlier counts as a
    whole. `share` is the payload of a full frame divided by its length.
    """

    end: End
    least_ns: int
    most_ns: int
    frame_bytes: int
    share: float

    def payload_bits(self, starts_ns: Times, ends_ns: Times) -> Values:
        """The most payload that can arrive between each pair of instants."""
        # The packets of an opportunity at the first instant are in the interval, too.
        first, last = np.maximum(starts_ns - self.most_ns - 1, -1), np.maximum(ends_ns - self.least_ns, 0)
        by_then, before = capacity_until(self.end, last), capacity_until(self.end, first)
        assert by_then is not None
        assert before is not None
        frames = 1 + _ahead(self.end, last) - _ahead(self.end, first)
        most: Values = (by_then - before + 8 * self.frame_bytes * frames) * self.share
        return most


def _ahead(end: End, times_ns: Times) -> Values:
    """The number of frames by which a link has got ahead of its rate by then, because its rate fell.

    htb charges a packet when it leaves: the gap after it is that of the earlier rate, so that the next packet leaves
    too early, by the fraction of a frame by which the new rate is lower.
    """
    rates = end.rates or ()
    if len(rates) < 2:
        return np.zeros(len(times_ns))
    falls = [max(0.0, 1 - after / before) for (_, before), (_, after) in pairwise(rates)]
    counted: Values = np.concatenate([[0.0], np.cumsum(falls)])
    return counted[np.searchsorted([at for at, _ in rates[1:]], times_ns, side="right")]


def capacity_doubts(run: RunDir) -> Iterator[str]:
    """Yield a sentence for every flow with a goodput, in total or in an interval, above a link's capacity on its path.

    Flows with records of arrivals are checked exactly; others are not checked.
    """
    flows = [data for data in load_flows(run, transits=False) if data.deliveries and data.deliveries.arrived]
    length_ns = interval_ns(run, flows)
    paths = _paths(run, flows)
    ends = {end.interface_index: end for end in run.description.ends}
    mtus = {link.name: link.mtu for link in run.network.links}
    for data in flows:
        hops = [(ends[hop.interface_index], hop) for hop in paths.get(data.flow.id, ()) if hop.interface_index in ends]
        bounds = _bounds(data, hops, min((mtus.get(end.link, _MAX_MTU) for end, _ in hops), default=_MAX_MTU))
        yield from list(_excesses(run, data, bounds, length_ns))[:1]


def _excesses(run: RunDir, data: FlowData, bounds: Sequence[Bound], length_ns: int) -> Iterator[str]:
    """Check its goodput as a whole, then in the intervals of the figures.

    What an application of MPTCP reads may have waited for another subflow since before its interval.
    """
    counted = data.delivered() if data.mptcp is None else None
    assert data.deliveries is not None
    middles, rates = data.deliveries.per_interval(whole_run(run), length_ns)
    starts = np.round(middles * 1e9).astype(np.int64) - length_ns // 2
    for bound in bounds:
        if counted is not None and counted[1].length_ns:
            edges = np.array(counted[1].bounds, np.int64)
            yield from _excess(data, bound, edges[:1], edges[1:], np.array([counted[0] * 8.0]))
        yield from _excess(data, bound, starts, starts + length_ns, rates * (length_ns / 1e3))


def _excess(data: FlowData, bound: Bound, starts: Times, ends: Times, bits: Values) -> Iterator[str]:
    most = bound.payload_bits(starts, ends)
    above = np.flatnonzero(bits > most * (1 + 1e-9))
    if len(above):
        at = above[0]
        length = (ends[at] - starts[at]) / 1e3
        yield (
            f"flow {data.flow.name} has a goodput of {bits[at] / length:.4g} Mbit/s from {starts[at] / 1e9:.6g} to "
            f"{ends[at] / 1e9:.6g} s, but {bound.end.name} carries no more than {most[at] / length:.4g} Mbit/s of it"
        )


@dataclass(frozen=True)
class _Passage:
    """A queue that a flow's data passed: the shortest and the longest sojourn in it, and the longest packet."""

    interface_index: int
    least_ns: int
    most_ns: int
    packet_bytes: int


def _paths(run: RunDir, flows: Sequence[FlowData]) -> Mapping[int, list[_Passage]]:
    """The queues that all data of a flow passed, in order, by flow id.

    The connections of a flow, such as the subflows of Multipath TCP, may have different paths; a queue that not all of
    them passed does not bound the flow.
    """
    flow_of = flow_of_tuples(run.scan("tuples").collect(), run.description.flows)
    wanted = {data.flow.id for data in flows}
    flow_of = {number: flow_id for number, flow_id in flow_of.items() if flow_id in wanted}
    sojourn = pl.col("dequeue_ns") - pl.col("enqueue_ns")
    keys = ("flow_id", "interface_index", "tuple_id")

    def passages(rows: pl.LazyFrame) -> pl.LazyFrame:
        return rows.filter(pl.col("tuple_id").is_in(list(flow_of)), fate=Fate.SENT).select(
            pl.col("tuple_id").replace_strict(flow_of, return_dtype=pl.UInt32).alias("flow_id"),
            "interface_index",
            "tuple_id",
            "packet_bytes",
            pl.col("dequeue_ns").alias("first_ns"),
            sojourn.alias("least_ns"),
            sojourn.alias("most_ns"),
        )

    columns = ("tuple_id", "fate", "interface_index", "enqueue_ns", "dequeue_ns", "packet_bytes")
    rules = {"first_ns": pl.Expr.min, "least_ns": pl.Expr.min, "most_ns": pl.Expr.max, "packet_bytes": pl.Expr.max}
    each = grouped(run, "packets", columns, passages, keys=keys, joined=rules)
    joined = [rule(pl.col(name)) for name, rule in rules.items()]
    frame = (
        each.group_by(keys[:2])
        .agg(*joined, pl.col("tuple_id").alias("tuples"))
        .sort("first_ns", keys[1], maintain_order=True)
    )
    connections: dict[int, set[int]] = defaultdict(set)
    for flow_id, tuples in frame.select("flow_id", "tuples").iter_rows():
        connections[flow_id].update(tuples)
    passed: dict[int, list[_Passage]] = defaultdict(list)
    shown = ("flow_id", "tuples", "interface_index", "least_ns", "most_ns", "packet_bytes")
    for flow_id, tuples, *passage in frame.select(shown).iter_rows():
        if len(tuples) == len(connections[flow_id]):
            passed[flow_id].append(_Passage(*passage))
    return passed


def _bounds(data: FlowData, hops: Sequence[tuple[End, _Passage]], mtu: int) -> list[Bound]:
    """The bounds of the links on the flow's path whose rate is known, the narrowest first; `mtu` is the path's."""
    if not hops:
        return []
    frame, payload = _frame(data, mtu)
    found: list[Bound] = []
    shortest_ns, longest_ns = 0, 0
    for end, passage in reversed(hops):
        shortest_ns, longest_ns = shortest_ns + end.delays_ns[0], longest_ns + end.delays_ns[1]
        if end.found:
            continue  # its shaper may have bursts of any unknown size
        if end.rates is not None:
            # The longest unit, with offloads a buffer of many frames, arrives with its last bit.
            longest = max(frame, passage.packet_bytes)
            whole = longest * 8 * 10**9 // min(rate for _, rate in end.rates)
            share = payload / frame * _whole_nanoseconds(frame, max(rate for _, rate in end.rates))
            found.append(Bound(end, shortest_ns, longest_ns + whole, longest, share))
        elif end.opportunities is not None:
            # A packet may be sent in parts, of which the first used the rest of an earlier opportunity.
            share = payload / (frame + end.overhead_bytes)
            longest = max(frame, passage.packet_bytes) + end.opportunities.size_bytes
            found.append(Bound(end, shortest_ns, longest_ns, longest, share))
        shortest_ns, longest_ns = shortest_ns + passage.least_ns, longest_ns + passage.most_ns
    return sorted(found, key=_most_ever)


def _whole_nanoseconds(frame_bytes: int, rate_bps: int) -> float:
    """The factor by which a link may exceed its rate, because htb truncates a packet's time to whole nanoseconds
    (psched_l2t_ns()). At 10 Gbit/s a full frame takes 1211.2 ns, but htb gives it 1211."""
    gap_ns = frame_bytes * 8e9 / rate_bps
    return gap_ns / max(gap_ns - 1, 1)


def _most_ever(bound: Bound) -> float:
    """The highest rate of its link, in bit/s."""
    if bound.end.opportunities is not None:
        return bound.end.opportunities.mean_rate_bps
    return max((rate for _, rate in bound.end.rates or ()), default=0)


def _frame(data: FlowData, mtu: int) -> tuple[int, float]:
    """The length of the flow's longest frame and its payload; for a datagram in fragments, the datagram's share."""
    family = 6 if ":" in data.flow.source else 4
    if data.quic is not None:
        datagram = data.quic.datagram_bytes + UDP_HEADER_BYTES + IP_HEADER_BYTES[family]
        return ETHERNET_HEADER_BYTES + datagram, data.quic.payload_bytes
    if data.sender is not None and data.sender.mss_bytes and not data.sender.quic:
        mss = data.sender.mss_bytes
        # Without timestamps segments are longer by as much as their headers are shorter.
        frame = ETHERNET_HEADER_BYTES + min(IP_HEADER_BYTES[family] + TCP_HEADER_BYTES + mss, mtu)
        return frame, mss
    if data.flow.transport == "sctp":
        return ETHERNET_HEADER_BYTES + mtu, mtu - IP_HEADER_BYTES[family] - SCTP_HEADER_BYTES
    assert data.deliveries is not None
    payload = int(np.diff(data.deliveries.total_bytes, prepend=0).max(initial=1))
    fragments = -(-(payload + UDP_HEADER_BYTES) // (mtu - IP_HEADER_BYTES[family]))
    frame = min(payload + UDP_HEADER_BYTES + IP_HEADER_BYTES[family], mtu) + ETHERNET_HEADER_BYTES
    headers = UDP_HEADER_BYTES + fragments * (ETHERNET_HEADER_BYTES + IP_HEADER_BYTES[family])
    return frame, frame * payload / (payload + headers)
