"""Discovered flows: each direction of a connection, and each stream of datagrams, that carried payload."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import polars as pl

from netwarp.flows.found import SHORT, TCP, found_name
from netwarp.flows.kind import COUNTED
from netwarp.lab_format.found import FoundFlow
from netwarp.store.rundir import RunDir

MAX_FLOWS = 1000
"""The maximum number of flows; the smallest ones beyond it are left out, but their packets and ACKs are recorded."""
SHORT_BYTES = 10 * 1460
"""The bytes that fit into an initial window (RFC 6928): a flow with less says nothing about a network's rate."""


def find_flows(
    run: RunDir,
    node_of_namespace: Mapping[int, str],
    node_of_interface: Mapping[int, str],
    *,
    node_of_address: Mapping[str, str] = MappingProxyType({}),
    apart_from: Sequence[frozenset[tuple[str, int]]] = (),
) -> list[FoundFlow]:
    """Find the flows in the lab's form, in the order of their beginning, without those between the ends `apart_from`.

    If neither the namespace nor the interface of an end gives its node, its address does.
    """
    rows = _without(_directions(run), apart_from)
    if rows.is_empty():
        return []
    nodes = _nodes(run, node_of_namespace, node_of_interface)
    first_of = {_key(row): row["tuple_id"] for row in rows.iter_rows(named=True)}
    entries = []
    largest = rows.sort("bytes", "tuple_id", descending=[True, False], maintain_order=True).head(MAX_FLOWS)
    for row in largest.sort("start_ns", "tuple_id", maintain_order=True).iter_rows(named=True):
        sender, receiver = nodes.get((row["tuple_id"], False)), nodes.get((row["tuple_id"], True))
        source = sender or node_of_address.get(row["source"], row["source"])
        destination = receiver or node_of_address.get(row["destination"], row["destination"])
        protocol = COUNTED[row["protocol"]]
        short = protocol == TCP and row["bytes"] < SHORT_BYTES
        # The end that sent first asked for a service, which the other end's port names.
        asked = row["tuple_id"] <= first_of.get(_key(row, turned=True), row["tuple_id"])
        service = row["destination_port"] if asked else row["source_port"]
        entries.append(
            FoundFlow(
                group=found_name(source, destination, protocol, service, short=short),
                tool=SHORT if short else protocol,
                from_=source,
                to=destination,
                source=row["source"],
                source_port=row["source_port"],
                destination=row["destination"],
                destination_port=row["destination_port"],
                start_ns=row["start_ns"],
                duration_ns=max(row["end_ns"] - row["start_ns"], 1),
            )
        )
    return _numbered(entries)


def _directions(run: RunDir) -> pl.DataFrame:
    """Five-tuples that carried payload, each with the time of its first packet (or of the first arrival, if no packet
    is recorded), of its last arrival, and its bytes."""
    tuples = run.scan("tuples").filter(pl.col("protocol").is_in(list(COUNTED)))
    came = run.scan("arrivals").filter(pl.col("new_bytes") > 0).group_by("tuple_id")
    brought = came.agg(pl.min("time_ns").alias("first_ns"), pl.max("time_ns").alias("end_ns"), pl.sum("new_bytes"))
    sent = run.scan("packets").group_by("tuple_id").agg(pl.min("enqueue_ns").alias("sent_ns"))
    frame = tuples.join(brought, on="tuple_id").join(sent, on="tuple_id", how="left").collect()
    start = pl.min_horizontal("first_ns", "sent_ns").alias("start_ns")
    return frame.with_columns(start, pl.col("new_bytes").cast(pl.Int64).alias("bytes"))


def _without(rows: pl.DataFrame, pairs: Sequence[frozenset[tuple[str, int]]]) -> pl.DataFrame:
    """The rows that are not between any of these pairs of ends."""
    known = set(pairs)
    kept = [
        frozenset({(row["source"], row["source_port"]), (row["destination"], row["destination_port"])}) not in known
        for row in rows.iter_rows(named=True)
    ]
    return rows.filter(pl.Series(kept, dtype=pl.Boolean))


def _nodes(
    run: RunDir, node_of_namespace: Mapping[int, str], node_of_interface: Mapping[int, str]
) -> dict[tuple[int, bool], str]:
    """The node of a socket, by its five-tuple and whether it receives.

    The sender of datagrams is not known, only the interface that they were first seen at.
    """
    first = pl.col("interface_index").sort_by("enqueue_ns", maintain_order=True).first()
    seen = run.scan("packets").group_by("tuple_id").agg(first)
    found = {
        (int(number), False): node_of_interface[index]
        for number, index in seen.collect().iter_rows()
        if index in node_of_interface
    }
    for row in run.scan("endpoints").drop_nulls("namespace").collect().iter_rows(named=True):
        if (node := node_of_namespace.get(row["namespace"])) is not None:
            found[row["tuple_id"], bool(row["receives"])] = node
    return found


def _key(row: Mapping[str, Any], *, turned: bool = False) -> tuple[Any, ...]:
    here, there = ("destination", "source") if turned else ("source", "destination")
    return (row["protocol"], row[here], row[f"{here}_port"], row[there], row[f"{there}_port"])


def _numbered(entries: list[FoundFlow]) -> list[FoundFlow]:
    """Number the flows, and name them as in a scenario: by their group if it has one flow, otherwise `group.0` etc."""
    sizes: dict[str, int] = {}
    for entry in entries:
        sizes[entry.group] = sizes.get(entry.group, 0) + 1
    order = {group: place for place, group in enumerate(sizes)}
    entries.sort(key=lambda entry: order[entry.group])  # flows of a group are adjacent
    counted: dict[str, int] = {}
    found: list[FoundFlow] = []
    for number, entry in enumerate(entries):
        group = entry.group
        counted[group] = counted.get(group, 0) + 1
        name = group if sizes[group] == 1 else f"{group}.{counted[group] - 1}"
        found.append(replace(entry, id=number, name=name))
    return found
