"""The traffic of a session in a lab: that of its commands, in addition to the lab's flows."""

from __future__ import annotations

from dataclasses import replace

from netwarp.discovery.commands import with_connections
from netwarp.discovery.traffic import find_flows
from netwarp.lab_format.found import FoundFlow
from netwarp.lab_format.model import Lab, LabFlow
from netwarp.store.rundir import RunDir


def session_flows(run: RunDir, lab: Lab, duration_ns: int) -> list[LabFlow | FoundFlow]:
    """Return the lab's own flows, up to the end of the session, and then those that were found. Raises StoreError."""
    planned = with_connections(run, lab) or list(lab.flows)
    begun = [
        replace(flow, duration_ns=min(flow.duration_ns, duration_ns - flow.start_ns))
        for flow in planned
        if flow.start_ns < duration_ns
    ]
    nodes = {address.split("/")[0]: end.node for end in lab.ends for address in end.addresses}
    found = find_flows(run, {}, {}, node_of_address=nodes, apart_from=[_ports(flow) for flow in planned])
    return [*begun, *(replace(flow, id=len(lab.flows) + flow.id) for flow in found)]


def _ports(flow: LabFlow) -> frozenset[tuple[str, int]]:
    return frozenset({(flow.source, flow.source_port), (flow.destination, flow.destination_port)})
