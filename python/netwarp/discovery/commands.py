"""The traffic of a lab's programs: the five-tuples of the sockets that a flow's command made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import polars as pl

from netwarp.flows import kind_of
from netwarp.flows.kind import COUNTED
from netwarp.lab_format.model import Lab, LabConnection, LabFlow
from netwarp.store.rundir import RunDir

_NO_TRANSPORT = (1, 2, 4, 41, 44, 47, 50, 51, 58, 89, 103, 112)
"""IP numbers of protocols that carry another packet, or no payload of a program: ICMP and its relatives, tunnels,
fragments, routing."""
_TUPLE = ("protocol", "source", "source_port", "destination", "destination_port")


def with_connections(run: RunDir, lab: Lab) -> list[LabFlow] | None:
    """Return the lab's flows, with the connections of commands' flows; None if there are no such flows.

    A flow's data are those of the protocol and the direction with most payload. A flow has no data if a transport whose
    payload is not counted sent more between its ends: that may be its data, and the counted payload may only control a
    test. Raises StoreError.
    """
    if not any(kind_of(flow.tool).owns_sockets for flow in lab.flows):
        return None
    rows = _owned(run)
    if rows.is_empty():
        return None
    uncounted = _uncounted(run)
    addresses = {
        node.name: {address.split("/")[0] for end in lab.ends if end.node == node.name for address in end.addresses}
        for node in lab.nodes
    }
    return [_with_found(flow, rows.filter(owner=flow.id), addresses, uncounted) for flow in lab.flows]


def _owned(run: RunDir) -> pl.DataFrame:
    """Five-tuples of the sockets that flows' commands made, with the flow's number and the bytes that arrived."""
    owners = run.scan("endpoints").drop_nulls("owner").select("tuple_id", "owner").unique()
    came = run.scan("arrivals").group_by("tuple_id").agg(pl.sum("new_bytes").cast(pl.Int64).alias("bytes"))
    tuples = run.scan("tuples").filter(pl.col("protocol").is_in(list(COUNTED)))
    return owners.join(tuples, on="tuple_id").join(came, on="tuple_id").sort("tuple_id", maintain_order=True).collect()


def _uncounted(run: RunDir) -> pl.DataFrame:
    """Pairs of addresses between which packets of other transports were sent, and their bytes."""
    known = pl.col("protocol").is_in([*COUNTED, *_NO_TRANSPORT])
    sent = run.scan("packets").group_by("tuple_id", "interface_index").agg(pl.sum("packet_bytes").cast(pl.Int64))
    most = sent.group_by("tuple_id").agg(pl.max("packet_bytes").alias("bytes"))
    return (
        run.scan("tuples").filter(~known).join(most, on="tuple_id").select("source", "destination", "bytes").collect()
    )


def _with_found(
    flow: LabFlow, rows: pl.DataFrame, addresses: Mapping[str, set[str]], uncounted: pl.DataFrame
) -> LabFlow:
    """Return the flow with its connections, and with their protocol and direction if these are known."""
    here, there = list(addresses[flow.from_]), list(addresses[flow.to])
    ways = (
        (reverse, protocol, rows.filter(pl.col("source").is_in(a) & pl.col("destination").is_in(b), protocol=protocol))
        for reverse, a, b in ((False, here, there), (True, there, here))
        for protocol in COUNTED
    )
    reverse, protocol, part = max(ways, key=lambda way: int(way[2]["bytes"].sum()))
    others = pl.col("source").is_in(here + there) & pl.col("destination").is_in(here + there)
    if part.is_empty() or uncounted.filter(others)["bytes"].sum() > part["bytes"].sum():
        return flow
    connections = tuple(LabConnection(**row) for row in part.select(_TUPLE).to_dicts())
    return replace(flow, own={**flow.own, "reverse": reverse, "protocol": COUNTED[protocol]}, connections=connections)
