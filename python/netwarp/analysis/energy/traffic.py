"""The packets of the parts of a network that have a model of energy, from the exact records of packets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
import polars as pl
from numpy.typing import NDArray

from netwarp.analysis.energy.consumption import Consumption, Packets, in_order
from netwarp.analysis.energy.nodes import node_consumption
from netwarp.analysis.energy.ports import port_consumption
from netwarp.analysis.parts import rows_by
from netwarp.analysis.tuples import TCP
from netwarp.store.codes import Fate
from netwarp.store.description import End
from netwarp.store.rundir import RunDir
from netwarp.values.constants import ETHERNET_HEADER_BYTES, IP_HEADER_BYTES, MAX_TCP_HEADER_BYTES

_COLUMNS = ("dequeue_ns", "packet_bytes", "segments", "tuple_id")


@dataclass(frozen=True)
class Part:
    """A direction of a link (scope `link`, named `link:node` by its sender) or a node, and its consumption; `whole` is
    the name of the link or node."""

    scope: str
    name: str
    whole: str
    consumption: Consumption


def parts_of(run: RunDir) -> list[Part]:
    """The consumption of each part with a model, links first, without parts whose packets are not recorded.

    Raises StoreError.
    """
    energy = run.document.energy
    if not (energy.links or energy.nodes) or not run.has_rows("packets"):
        return []
    ends: dict[str, list[End]] = defaultdict(list)
    for end in run.description.ends:
        ends[end.link].append(end)
    at_node = {
        node: [link for link, both in ends.items() if any(end.node == node for end in both)] for node in energy.nodes
    }
    wanted = {*energy.links, *chain.from_iterable(at_node.values())}
    sent = _load(run, {end.interface_index for link in wanted for end in ends[link]})
    unknown = _unrecorded(run, sent)
    known = {link for link in wanted if not any(end.interface_index in unknown for end in ends[link])}
    found = []
    for link, port in energy.links.items():
        if link in known:
            used = port_consumption(port, [sent[end.interface_index] for end in ends[link]])
            found += [Part("link", end.name, link, one) for end, one in zip(ends[link], used, strict=True)]
    longest = _longest_acks(run)
    for node, model in energy.nodes.items():
        if known.issuperset(at_node[node]):
            both = [end for link in at_node[node] for end in ends[link]]
            packets = in_order([_at(node, sent[end.interface_index], end) for end in both])
            acks = _are_acks(packets, longest)
            unmodelled = sum(link not in energy.links for link in at_node[node])
            found.append(Part("node", node, node, node_consumption(model, packets, unmodelled, acks)))
    return found


def _at(node: str, packets: Packets, end: End) -> Packets:
    """The packets that an end sends, as its own node or the one at the other end sees them."""
    return packets if end.node == node else _at_the_other_end(packets, end)


def _unrecorded(run: RunDir, sent: Mapping[int, Packets]) -> set[int]:
    """The interfaces whose packets are not recorded, since they have no queue (noqueue_init())."""
    counted = run.scan("links").filter(pl.col("interface_index").is_in(list(sent))).sort("time_ns", maintain_order=True)
    grown = pl.col("tx_packets").last().cast(pl.Int64) - pl.col("tx_packets").first().cast(pl.Int64)
    growth = counted.group_by("interface_index").agg(grown).collect().iter_rows()
    return {index for index, packets in growth if packets and not len(sent[index])}


def _load(run: RunDir, interfaces: Collection[int]) -> Mapping[int, Packets]:
    """The packets that left the queue of each of these interfaces to be sent, in the order of their departures."""
    wanted = (pl.col("fate") == Fate.SENT) & pl.col("interface_index").is_in(list(interfaces))
    frame = (
        run.scan("packets")
        .filter(wanted)
        .select("interface_index", *_COLUMNS)
        .sort("dequeue_ns", maintain_order=True)
        .collect()
    )
    columns = [frame[name].to_numpy().astype(np.int64) for name in _COLUMNS]
    rows = rows_by(frame["interface_index"])
    none = np.empty(0, np.intp)
    return {index: _picked(columns, rows.get(index, none)) for index in interfaces}


def _picked(columns: Sequence[NDArray[np.int64]], rows: NDArray[np.intp]) -> Packets:
    times, sizes, segments, tuples = (column[rows] for column in columns)
    return Packets(times, sizes, segments, tuples, np.ones(len(rows), bool))


def _at_the_other_end(packets: Packets, end: End) -> Packets:
    """The same packets as they arrive at the other end of the link, if none is lost or delayed beyond the minimum."""
    times = packets.times_ns + end.delays_ns[0]
    if end.rates:
        rates = np.array([rate for _, rate in end.rates])
        at = np.searchsorted([since for since, _ in end.rates], packets.times_ns, side="right") - 1
        times = times + packets.frame_bytes * 8 * 10**9 // rates[np.maximum(at, 0)]
    return replace(packets, times_ns=times, sent=np.zeros(len(packets), bool))


def _longest_acks(run: RunDir) -> dict[int, int]:
    """The length of the longest frame that may be a segment without data, by the tuples of TCP."""
    tuples = run.scan("tuples").filter(protocol=TCP).select("tuple_id", "source").collect()
    headers = ETHERNET_HEADER_BYTES + MAX_TCP_HEADER_BYTES
    return {number: headers + IP_HEADER_BYTES[6 if ":" in source else 4] for number, source in tuples.iter_rows()}


def _are_acks(packets: Packets, longest: Mapping[int, int]) -> NDArray[np.bool_]:
    """The packets that are TCP segments without data, by their lengths, as a mask."""
    keys, rows = np.unique(packets.tuples, return_inverse=True)
    most = np.array([longest.get(key, 0) for key in keys.tolist()], np.int64)
    found: NDArray[np.bool_] = packets.frame_bytes <= most[rows] if len(keys) else np.zeros(0, bool)
    return found
