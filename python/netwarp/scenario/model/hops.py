"""Hops between nodes. Written here because a graph library takes 0.2 s to import, in every command."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

Node = TypeVar("Node", bound=Hashable)


def hops_from(starts: Iterable[Node], neighbours: Mapping[Node, Sequence[Node]]) -> dict[Node, int]:
    """The hops from the nearest of `starts` to every node that can be reached, in breadth-first order."""
    hops = dict.fromkeys(starts, 0)
    edge = list(hops)
    while edge:
        found = []
        for node in edge:
            for other in neighbours.get(node, ()):
                if other not in hops:
                    hops[other] = hops[node] + 1
                    found.append(other)
        edge = found
    return hops
