"""The positions of nodes in a drawing: the longest path as a straight line, everything else beside it."""

from collections import deque
from collections.abc import Mapping, Sequence

from netwarp.store.network import Network

Place = tuple[int, int]
"""Column (along the main line) and row (beside it)."""


def places(network: Network, senders: Sequence[str]) -> dict[str, Place]:
    """A place for each node: the column by its position along the network's longest shortest path, the row by order.

    A node that is attached to the line by one link is one column before its neighbour if it sends (`senders`), else one
    after it, so that a dumbbell looks like one.
    """
    beside = _neighbours(network)
    spine = _spine(beside, senders)
    line = {node: column for column, node in enumerate(spine)}
    columns: dict[str, int] = {}
    away, back = _hops(beside, spine[0]), _hops(beside, spine[-1])
    for node in network.nodes:
        if node in line:
            columns[node] = line[node]
        elif len(beside[node]) == 1 and (neighbour := next(iter(beside[node]))) in line:
            columns[node] = line[neighbour] + (-1 if node in senders else 1)
        else:
            total = len(spine) - 1
            columns[node] = round((away.get(node, total) - back.get(node, 0) + total) / 2)
    first = min(columns.values())
    taken: dict[int, int] = {}
    found: dict[str, Place] = {}
    for node in [*spine, *(node for node in network.nodes if node not in line)]:
        column = columns[node] - first
        # Row 0 is reserved for the line.
        row = 0 if node in line else max(taken.get(column, 0), 1)
        taken[column] = row + 1
        found[node] = (column, row)
    return found


def _neighbours(network: Network) -> dict[str, dict[str, None]]:
    found: dict[str, dict[str, None]] = {node: {} for node in network.nodes}
    for link in network.links:
        found[link.directions[0].source][link.directions[0].target] = None
        found[link.directions[0].target][link.directions[0].source] = None
    return found


def _spine(beside: Mapping[str, Mapping[str, None]], senders: Sequence[str]) -> list[str]:
    """The longest of all shortest paths, starting at a sender if one of its ends is one; the first of equal ones."""
    best: list[str] = []
    for start in [*dict.fromkeys(node for node in senders if node in beside), *beside]:
        path = _farthest(beside, start)
        if len(path) > len(best):
            best = path
    return best


def _farthest(beside: Mapping[str, Mapping[str, None]], start: str) -> list[str]:
    before: dict[str, str | None] = {start: None}
    waiting = deque([start])
    last = start
    distance = {start: 0}
    while waiting:
        node = waiting.popleft()
        if distance[node] > distance[last]:
            last = node
        for other in beside[node]:
            if other not in before:
                before[other], distance[other] = node, distance[node] + 1
                waiting.append(other)
    path: list[str] = []
    at: str | None = last
    while at is not None:
        path.append(at)
        at = before[at]
    return path[::-1]


def _hops(beside: Mapping[str, Mapping[str, None]], start: str) -> dict[str, int]:
    found = {start: 0}
    waiting = deque([start])
    while waiting:
        node = waiting.popleft()
        for other in beside[node]:
            if other not in found:
                found[other] = found[node] + 1
                waiting.append(other)
    return found
