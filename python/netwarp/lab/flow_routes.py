"""Routes of single groups of flows, for options that Linux has for a route and not for a socket."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from netwarp.flows import kind_of
from netwarp.flows.options import route_metrics
from netwarp.lab.network import NetworkGraph
from netwarp.lab.sizes import Sizes
from netwarp.lab_format.model import LabFlow, LabFlowRoute

FIRST_TABLE = 1000
"""The number of the first table, and of its rule: after the kernel's local table, before its main one."""


def build_flow_routes(network: NetworkGraph, sizes: Sizes, flows: Sequence[LabFlow]) -> Iterator[LabFlowRoute]:
    """Two routes, one at each end, for each group of `flows` whose options are metrics of a route."""
    table = FIRST_TABLE
    for group, flow in network.scenario.flows.items():
        metrics = route_metrics(flow, kind_of(flow.tool).transport)
        members = [one for one in flows if one.group == group] if metrics else []
        if not members:
            continue
        first, last = members[0], members[-1]
        path = sizes.paths[group]
        ends = (
            (first.from_, first.destination, path.forward[0], path.forward[-1], True),
            (first.to, first.source, path.reverse[0], path.reverse[-1], False),
        )
        for node, to, hop, arrival, is_source in ends:
            yield LabFlowRoute(
                flow=group,
                node=node,
                table=table,
                to=to,
                via=None if hop.link == arrival.link else network.gateway(hop, 4 if flow.family == "ipv4" else 6),
                interface=network.interfaces[hop.link][hop.direction],
                first_port=first.destination_port,
                last_port=last.destination_port,
                is_source=is_source,
                metrics=metrics,
            )
            table += 1
