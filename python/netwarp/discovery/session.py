"""The traffic of a session in a lab: what its commands sent, beside the flows that the lab has anyway."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from netwarp.discovery.commands import with_connections
from netwarp.discovery.traffic import find_flows
from netwarp.store.rundir import RunDir


def session_flows(run: RunDir, lab: Mapping[str, Any], duration_ns: int) -> list[Any]:
    """The lab's own flows, as far as the session went, and then those that were found. Raises StoreError."""
    planned = with_connections(run, lab) or list(lab["flows"])
    begun = [
        {**flow, "duration_ns": min(flow["duration_ns"], duration_ns - flow["start_ns"])}
        for flow in planned
        if flow["start_ns"] < duration_ns
    ]
    ends = [end for link in lab["links"] for end in link["ends"]]
    nodes = {address.split("/")[0]: end["node"] for end in ends for address in end["addresses"]}
    found = find_flows(run, {}, {}, node_of_address=nodes, apart_from=[_ports(flow) for flow in planned])
    first = len(lab["flows"])
    return [*begun, *({**flow, "id": first + flow["id"]} for flow in found)]


def _ports(flow: Mapping[str, Any]) -> frozenset[tuple[str, int]]:
    return frozenset({(flow["source"], flow["source_port"]), (flow["destination"], flow["destination_port"])})
