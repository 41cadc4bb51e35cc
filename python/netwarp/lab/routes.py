"""Routes of every node. Adjacent subnets with the same next hop share one route (RFC 4632, 5.1), so that a network of
n nodes has about n log n routes rather than n².
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from ipaddress import ip_network
from typing import NamedTuple, TypeVar

from netwarp.lab.network import Hop, NetworkGraph
from netwarp.lab_format.nodes import LabRoute

T = TypeVar("T")
_BITS = {4: 32, 6: 128}


class _Prefix(NamedTuple):
    """A prefix by the number of its first address and its length."""

    first: int
    length: int


_Table = list[tuple[_Prefix, Hop]]
"""The routes of a node in the order of their addresses."""


def build_routes(network: NetworkGraph, check: Callable[[], None]) -> list[LabRoute]:
    """The routes of every node to exactly those subnets that it can reach and is not attached to.

    This takes a step for each link and each node with several links. `check` is called repeatedly and may raise to end
    it.
    """
    hops = _next_hops(network, check)
    tables = {version: _tables(network, version, hops) for version in _BITS}
    return [
        LabRoute(
            node=node,
            prefix=_written(prefix, version),
            via=network.gateway(hop, version),
            interface=network.interfaces[hop.link][hop.direction],
        )
        for node in network.attached
        for version in _BITS
        for prefix, hop in tables[version][node]
    ]


def _next_hops(network: NetworkGraph, check: Callable[[], None]) -> dict[str, dict[int, Hop]]:
    """The first hop toward each link's subnet, from each node that is not a leaf."""
    found: dict[str, dict[int, Hop]] = {node: {} for node in network.attached}
    for link in range(len(network.links)):
        check()
        for node, hop in network.next_hops(link):
            found[node][link] = hop
    return found


def _tables(network: NetworkGraph, version: int, hops: Mapping[str, Mapping[int, Hop]]) -> dict[str, _Table]:
    """Each node's routes. Those of a leaf are its neighbour's subnets as one set, without the leaf's own."""
    subnets = [pairs[version][0].network for pairs in network.addresses]
    prefixes = [_Prefix(int(subnet.network_address), subnet.prefixlen) for subnet in subnets]
    order = sorted(range(len(prefixes)), key=lambda link: prefixes[link])
    bits = _BITS[version]

    @cache
    def around(node: str) -> list[_Prefix]:
        own = {hop.link for hop in network.attached[node]}
        return _merged((prefixes[link] for link in order if link in hops[node] or link in own), bits)

    tables = {}
    for node in network.attached:
        if leaf := network.leaves.get(node):
            tables[node] = [(prefix, leaf.hop) for prefix in _without(around(leaf.peer), prefixes[leaf.hop.link], bits)]
        else:
            tables[node] = _joined(((prefixes[link], hops[node][link]) for link in order if link in hops[node]), bits)
    return tables


def _joined(routes: Iterable[tuple[_Prefix, T]], bits: int) -> list[tuple[_Prefix, T]]:
    """Ordered routes with one in place of two that are the halves of a prefix and have the same next hop."""
    table: list[tuple[_Prefix, T]] = []
    for route in routes:
        table.append(route)
        while len(table) > 1 and table[-2][1] == table[-1][1] and (whole := _whole(table[-2][0], table[-1][0], bits)):
            table[-2:] = [(whole, table[-1][1])]
    return table


def _merged(prefixes: Iterable[_Prefix], bits: int) -> list[_Prefix]:
    """Ordered prefixes with one in place of two halves."""
    return [prefix for prefix, _ in _joined(((prefix, None) for prefix in prefixes), bits)]


def _whole(low: _Prefix, high: _Prefix, bits: int) -> _Prefix | None:
    """The prefix of which these two, in this order, are the halves."""
    size = 1 << (bits - low.length)
    if low.length != high.length or low.first & size or low.first | size != high.first:
        return None
    return _Prefix(low.first, low.length - 1)


def _without(prefixes: Sequence[_Prefix], left_out: _Prefix, bits: int) -> Iterator[_Prefix]:
    """Merged prefixes without one of those that were merged: the prefix that holds it is halved until it is alone."""
    at = bisect_right(prefixes, left_out.first, key=lambda prefix: prefix.first) - 1
    yield from prefixes[:at]
    yield from _halves(prefixes[at], left_out, bits)
    yield from prefixes[at + 1 :]


def _halves(prefix: _Prefix, left_out: _Prefix, bits: int) -> Iterator[_Prefix]:
    if prefix == left_out:
        return
    middle = prefix.first | 1 << (bits - prefix.length - 1)
    low, high = _Prefix(prefix.first, prefix.length + 1), _Prefix(middle, prefix.length + 1)
    if left_out.first < middle:
        yield from _halves(low, left_out, bits)
        yield high
    else:
        yield low
        yield from _halves(high, left_out, bits)


@cache
def _written(prefix: _Prefix, version: int) -> str:
    return str(ip_network((prefix.first.to_bytes(_BITS[version] // 8, "big"), prefix.length)))
