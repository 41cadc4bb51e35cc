"""Routes of single groups of flows, for options that Linux has for a route and not for a socket."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from netwarp.flows import kind_of
from netwarp.flows.options import route_metrics
from netwarp.lab.network import NetworkGraph, Path
from netwarp.lab.sizes import Sizes
from netwarp.lab_format.model import LabFlow
from netwarp.lab_format.nodes import LabFlowRoute

FIRST_TABLE = 1000
"""The number of the first table, and of its rule: after the kernel's local table, before its main one."""


def build_flow_routes(network: NetworkGraph, sizes: Sizes, flows: Sequence[LabFlow]) -> Iterator[LabFlowRoute]:
    """Routes at both ends of each group of `flows` whose options are metrics of a route, or which has several paths.

    Of several paths, the source has a route for each, in order: a packet takes the first, unless its subflow is bound
    to the interface of another.
    """
    table = FIRST_TABLE
    for group, flow in network.scenario.flows.items():
        metrics, ways = route_metrics(flow, kind_of(flow.tool).transport), sizes.ways(group)
        members = [one for one in flows if one.group == group] if metrics or len(ways) > 1 else []
        if not members:
            continue
        first, last = members[0], members[-1]
        version = 4 if flow.family == "ipv4" else 6
        ends = [(first.from_, first.destination, way.forward[0], way.forward[-1], True) for way in ways]
        if metrics:
            ends += [(first.to, _source(network, way, version), way.reverse[0], way.reverse[-1], False) for way in ways]
        for node, to, hop, arrival, is_source in ends:
            yield LabFlowRoute(
                flow=group,
                node=node,
                table=table,
                to=to,
                via=None if hop.link == arrival.link else network.gateway(hop, version),
                interface=network.interfaces[hop.link][hop.direction],
                first_port=first.destination_port,
                last_port=last.destination_port,
                is_source=is_source,
                metrics=metrics,
            )
            table += 1


def _source(network: NetworkGraph, way: Path, version: int) -> str:
    """The address with which a path begins."""
    hop = way.forward[0]
    return str(network.addresses[hop.link][version][hop.direction].ip)
