"""Flows over Multipath TCP: what their applications read, and the subflows of each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from netwarp.analysis.flow.deliveries import Deliveries, load_arrivals
from netwarp.analysis.flow.senders import Sender, load_senders
from netwarp.analysis.metric import Metric, rows
from netwarp.analysis.parts import parts_by
from netwarp.analysis.tuples import flow_of_tuples
from netwarp.stats.weighting import Window, growth, time_weighted, weighted_mean, weighted_percentiles
from netwarp.store.description import Connection, Flow
from netwarp.store.rundir import RunDir


@dataclass(frozen=True)
class Subflow:
    """The part of an MPTCP connection that begins on one link of its sender.

    `arrived` is the payload that reached its receiver, and `sender` its state; each is None without records.
    """

    link: str
    arrived: Deliveries | None
    sender: Sender | None


@dataclass(frozen=True)
class Mptcp:
    """An MPTCP flow: the payload that its application read over time (None: none), its connection, and its subflows.

    `fell_back` is None if the connection was never made. `subflows` and `reinjected_pct` are those at its end.
    """

    readable: Deliveries | None
    fell_back: bool | None
    subflows: int | None
    reinjected_pct: float | None
    each: tuple[Subflow, ...]


def load_mptcp(run: RunDir) -> dict[int, Mptcp]:
    """Load the MPTCP flows of a run by flow id."""
    flows = tuple(flow for flow in run.description.flows if flow.kind.subflows)
    if not flows:
        return {}
    frame = run.scan("mptcp_reads").sort("flow_id", "time_ns", maintain_order=True)
    reads = parts_by(frame.with_columns(pl.col("in_order_bytes").cast(pl.Int64)).collect(), "flow_id")
    ends = {row["flow_id"]: row for row in run.scan("mptcp").collect().iter_rows(named=True)}
    subflows = _subflows(run, flows)
    found = {}
    for flow in flows:
        read, end = reads.get(flow.id), ends.get(flow.id, {})
        found[flow.id] = Mptcp(
            readable=None if read is None else Deliveries(read["time_ns"], np.cumsum(read["in_order_bytes"])),
            fell_back=end.get("fell_back"),
            subflows=end.get("subflows"),
            reinjected_pct=_percent(end.get("reinjected_bytes"), end.get("sent_bytes")),
            each=subflows.get(flow.id, ()),
        )
    return found


def _percent(part: int | None, whole: int | None) -> float | None:
    return None if part is None or not whole else 100 * part / whole


def _subflows(run: RunDir, flows: tuple[Flow, ...]) -> Mapping[int, tuple[Subflow, ...]]:
    """The subflows of each flow, in the order in which they were first seen; none without exact records."""
    links = {address.partition("/")[0]: of.name for of in run.lab.links for end in of.ends for address in end.addresses}
    tuples = run.scan("tuples").collect()
    flow_of = flow_of_tuples(tuples, flows)
    columns = ("tuple_id", "protocol", "source", "source_port", "destination", "destination_port")
    connections: dict[tuple[int, str], list[Connection]] = defaultdict(list)
    for number, *connection in tuples.select(columns).sort("tuple_id", maintain_order=True).iter_rows():
        if number in flow_of:
            source = str(connection[1])
            connections[flow_of[number], links.get(source, source)].append(tuple(connection))
    by_id = {flow.id: flow for flow in flows}
    # Each is a flow with known connections, for the readers of these.
    alone = tuple(
        replace(by_id[flow_id], id=number, connections=tuple(own))
        for number, ((flow_id, _), own) in enumerate(connections.items())
    )
    senders, (arrived, _) = load_senders(run, alone), load_arrivals(run, alone)
    found: dict[int, list[Subflow]] = defaultdict(list)
    for number, (flow_id, link) in enumerate(connections):
        found[flow_id].append(Subflow(link, arrived.get(number), senders.get(number)))
    return {flow_id: tuple(each) for flow_id, each in found.items()}


def connection_metrics(parts: Sequence[Mptcp]) -> dict[str, float | int | None]:
    """The metrics of the connections of flows together; none for flows that are not MPTCP's."""
    counts = [part.subflows for part in parts if part.subflows is not None]
    again = [part.reinjected_pct for part in parts if part.reinjected_pct is not None]
    return {
        "subflows": sum(counts) / len(counts) if counts else None,
        "reinjected_pct": sum(again) / len(again) if again else None,
    }


def subflow_metrics(name: str, mptcp: Mptcp, window: Window) -> Iterator[Metric]:
    """The metrics of each subflow of the flow of this name in a window, as those of `FLOW:LINK`."""
    payloads = [one.arrived.bytes_in(window) or 0 if one.arrived else 0 for one in mptcp.each]
    whole = sum(payloads)
    for one, payload in zip(mptcp.each, payloads, strict=True):
        found: dict[str, float | int | None] = {
            "goodput_mbps": payload * 8e3 / window.length_ns if window.length_ns else None,
            "share_pct": 100 * payload / whole if whole else None,
        }
        if (sender := one.sender) is not None:
            rtts = time_weighted(sender.rtt_times_ns, sender.rtts_ms, window)
            percentiles = weighted_percentiles(rtts, [95])
            found |= {
                "rtt_ms_mean": weighted_mean(rtts),
                "rtt_ms_p95": percentiles[0] if percentiles else None,
                "cwnd_pkts_mean": weighted_mean(time_weighted(sender.times_ns, sender.cwnd_pkts, window)),
                "retransmits": growth(sender.times_ns, sender.retransmits, window),
            }
        yield from rows("subflow", f"{name}:{one.link}", found)
