"""Whether packets can get from one node to another, and if not, what is missing."""

from __future__ import annotations

from functools import lru_cache

import networkx as nx  # type: ignore[import-untyped]


@lru_cache(maxsize=4096)
def unreachable(ends: tuple[tuple[str, ...], ...], forwarding: frozenset[str], source: str, target: str) -> str | None:
    """Why `target` cannot be reached from `source` over links with these ends; None when it can.

    Only nodes in `forwarding` pass packets on. The sentence names the nodes that would have to forward.
    """
    graph = nx.Graph(ends)
    graph.add_nodes_from((source, target))
    usable = graph.subgraph(node for node in graph if node in forwarding or node in (source, target))
    if nx.has_path(usable, source, target):
        return None
    if not nx.has_path(graph, source, target):
        return f'no links lead from "{source}" to "{target}"; add a link that joins them'
    between = nx.shortest_path(graph, source, target)[1:-1]
    missing = [f'"{node}"' for node in between if node not in forwarding]
    which = "node " + missing[0] + " does" if len(missing) == 1 else "nodes " + ", ".join(missing) + " do"
    return f'"{source}" cannot reach "{target}": {which} not pass packets on; add `forward = true` there'
