"""The endpoints of Multipath TCP in nodes, and the paths of its subflows."""

from __future__ import annotations

from collections.abc import Iterator

from netwarp.flows import FlowBase, kind_of
from netwarp.lab.network import Hop, NetworkGraph, Path
from netwarp.lab_format.nodes import LabMptcp, LabMptcpEndpoint


def further_paths(network: NetworkGraph, first: Path, flow: FlowBase) -> tuple[Path, ...]:
    """The paths of the subflows of an MPTCP flow beside the first, in file order of their links; none of other flows.

    A link from which its destination cannot be reached carries none.
    """
    hops = (hop for hop in network.attached[flow.from_] if hop.link != first.forward[0].link)
    named = (hop for hop in hops if flow.carries(network.names[hop.link]))
    paths = (network.path_over(hop, flow.to, first.forward[-1]) for hop in named)
    return tuple(path for path in paths if path is not None)


def build_mptcp(network: NetworkGraph, node: str, ways: dict[str, tuple[Path, ...]]) -> LabMptcp | None:
    """The endpoints of a node that sends over MPTCP, and the subflows that a node at either end allows.

    `ways` has all paths of each flow. None if no MPTCP flow begins or ends there.
    """
    flows = {
        name: flow
        for name, flow in network.scenario.flows.items()
        if kind_of(flow.tool).subflows and flow.count and node in (flow.from_, flow.to)
    }
    if not flows:
        return None
    ends = dict.fromkeys(end for name, flow in flows.items() if flow.from_ == node for end in _ends(ways[name], flow))
    return LabMptcp(
        subflows=max(len(ways[name]) - 1 for name in flows),
        endpoints=tuple(_endpoint(network, hop, version, flows) for hop, version in ends),
    )


def _ends(paths: tuple[Path, ...], flow: FlowBase) -> Iterator[tuple[Hop, int]]:
    """The hops with which subflows begin, with the version of their addresses; none if there is but one path."""
    if len(paths) > 1:
        yield from ((path.forward[0], 4 if flow.family == "ipv4" else 6) for path in paths)


def _endpoint(network: NetworkGraph, hop: Hop, version: int, flows: dict[str, FlowBase]) -> LabMptcpEndpoint:
    return LabMptcpEndpoint(
        address=str(network.addresses[hop.link][version][hop.direction].ip),
        interface=network.interfaces[hop.link][hop.direction],
        backup=any(flow.is_backup(network.names[hop.link]) for flow in flows.values()),
    )
