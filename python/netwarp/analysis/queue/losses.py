"""Flows that lost packets in the network, in either direction."""

from collections.abc import Collection

import polars as pl

from netwarp.analysis.queue.drops import is_of_the_network
from netwarp.analysis.tuples import flow_of_tuples
from netwarp.store.codes import Fate
from netwarp.store.rundir import RunDir

_OTHER_END = {
    "source": "destination",
    "destination": "source",
    "source_port": "destination_port",
    "destination_port": "source_port",
}


def flows_with_losses(run: RunDir) -> Collection[int]:
    """Ids of the flows that lost a packet in the network, or had one in a queue at the end.

    Samples do not show whose packets were lost: without exact records these are all flows if any packet was lost.
    """
    if not run.has_rows("packets"):
        return {flow.id for flow in run.description.flows} if _any_loss(run) else set()
    tuples = run.scan("tuples").collect()
    flows = run.description.flows
    # A test without a control connection sends nothing else.
    both_ways = (tuples.rename(_OTHER_END), tuples)
    flow_of = {n: flow for way in both_ways for n, flow in flow_of_tuples(way, flows, with_control=True).items()}
    lost = (
        run.scan("packets").filter(pl.col("fate").is_in([Fate.DROPPED, Fate.QUEUED])),
        run.scan("drops").filter(is_of_the_network(run.description)),
    )
    parts = [part.select("tuple_id").unique().collect()["tuple_id"].to_list() for part in lost]
    return {flow_of[number] for part in parts for number in part if number in flow_of}


def _any_loss(run: RunDir) -> bool:
    lost = (("queues", "drops"), ("wires", "lost_pkts"))
    return any(run.has_rows(name) and bool(run.scan(name).select(pl.col(n).max()).collect().item()) for name, n in lost)
