"""The traffic of a lab's programs: which five-tuples the sockets belong to that a flow's command made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from netwarp.flows import kind_of
from netwarp.store.rundir import RunDir

_PROTOCOLS = {6: "tcp", 17: "udp"}
_TUPLE = ("protocol", "source", "source_port", "destination", "destination_port")


def with_connections(run: RunDir, lab: Mapping[str, Any]) -> list[Any] | None:
    """The lab's flows, those of commands with their connections; None if there is nothing to say.

    A flow's data are those of the protocol and in the direction that brought most payload. Raises StoreError.
    """
    if not any(kind_of(flow["tool"]).owns_sockets for flow in lab["flows"]):
        return None
    rows = _owned(run)
    if rows.is_empty():
        return None
    addresses = {
        node["name"]: {
            address.split("/")[0]
            for link in lab["links"]
            for end in link["ends"]
            if end["node"] == node["name"]
            for address in end["addresses"]
        }
        for node in lab["nodes"]
    }
    return [{**flow, **_found(flow, rows.filter(owner=flow["id"]), addresses)} for flow in lab["flows"]]


def _owned(run: RunDir) -> pl.DataFrame:
    """Five-tuples of the sockets that flows' commands made, with the flow's number and how many bytes came."""
    owners = run.scan("endpoints").drop_nulls("owner").select("tuple_id", "owner").unique()
    came = run.scan("arrivals").group_by("tuple_id").agg(pl.sum("new_bytes").cast(pl.Int64).alias("bytes"))
    tuples = run.scan("tuples").filter(pl.col("protocol").is_in(list(_PROTOCOLS)))
    return owners.join(tuples, on="tuple_id").join(came, on="tuple_id").sort("tuple_id").collect()


def _found(flow: Mapping[str, Any], rows: pl.DataFrame, addresses: Mapping[str, set[str]]) -> dict[str, Any]:
    """Fields of its entry in the lab."""
    here, there = list(addresses[flow["from"]]), list(addresses[flow["to"]])
    ways = (
        (reverse, protocol, rows.filter(pl.col("source").is_in(a) & pl.col("destination").is_in(b), protocol=protocol))
        for reverse, a, b in ((False, here, there), (True, there, here))
        for protocol in _PROTOCOLS
    )
    reverse, protocol, part = max(ways, key=lambda way: int(way[2]["bytes"].sum()))
    if part.is_empty():
        return {}
    connections = part.select(_TUPLE).to_dicts()
    return {"reverse": reverse, "protocol": _PROTOCOLS[protocol], "connections": connections}
