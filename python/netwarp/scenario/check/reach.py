"""Reachability: whether packets can get from one node to another, and if not, the missing part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from netwarp.flows import FlowBase
from netwarp.scenario.model.hops import hops_from


@lru_cache(maxsize=4096)
def unreachable(ends: tuple[tuple[str, ...], ...], forwarding: frozenset[str], source: str, target: str) -> str | None:
    """The reason why `target` cannot be reached from `source` over links with these ends; None if it can.

    Only nodes in `forwarding` pass packets on. The sentence names the nodes that would have to forward.
    """
    if links_between(ends, forwarding, source, target) is not None:
        return None
    neighbours = _neighbours(ends)
    hops = hops_from([source], neighbours)
    if target not in hops:
        return f'no links lead from "{source}" to "{target}"; add a link that joins them'
    missing = [f'"{node}"' for node in _between(hops, neighbours, target) if node not in forwarding]
    which = "node " + missing[0] + " does" if len(missing) == 1 else "nodes " + ", ".join(missing) + " do"
    return f'"{source}" cannot reach "{target}": {which} not pass packets on; add `forward = true` there'


def links_between(
    ends: tuple[tuple[str, ...], ...], forwarding: frozenset[str], source: str, target: str
) -> int | None:
    """The number of links that packets from `source` to `target` cross; None if they cannot get there."""
    neighbours = _neighbours(ends)
    usable = {node: others for node, others in neighbours.items() if node in forwarding or node == source}
    return hops_from([source], usable).get(target)


def links_on_paths(ends: Mapping[str, tuple[str, ...]], forwarding: frozenset[str], flow: FlowBase) -> list[str]:
    """The links, by name, that are on a shortest path of a flow's packets; its destination can be reached."""
    pairs = tuple(ends.values())
    length = links_between(pairs, forwarding, flow.from_, flow.to)
    neighbours = _neighbours(pairs)
    usable = {node: others for node, others in neighbours.items() if node in forwarding or node == flow.from_}
    there = hops_from([flow.from_], usable)
    back = hops_from(
        [flow.to], {node: [one for one in others if one in forwarding] for node, others in neighbours.items()}
    )
    far = len(neighbours)
    return [
        name
        for name, (one, other) in ends.items()
        for a, b in ((one, other), (other, one))
        if (a == flow.from_ or a in forwarding) and there.get(a, far) + 1 + back.get(b, far) == length
    ]


@lru_cache(maxsize=8)
def _neighbours(ends: tuple[tuple[str, ...], ...]) -> Mapping[str, Sequence[str]]:
    neighbours: dict[str, list[str]] = {}
    for one, other in ends:
        neighbours.setdefault(one, []).append(other)
        neighbours.setdefault(other, []).append(one)
    return neighbours


def _between(hops: Mapping[str, int], neighbours: Mapping[str, Sequence[str]], target: str) -> list[str]:
    """The nodes on a shortest path to `target`, without its ends."""
    path = [target]
    while hops[path[-1]] > 0:
        path.append(next(node for node in neighbours[path[-1]] if hops.get(node, -1) == hops[path[-1]] - 1))
    return path[-2:0:-1]
