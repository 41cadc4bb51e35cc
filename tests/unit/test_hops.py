"""Hops compared with the graph library, on random graphs."""

import networkx as nx  # type: ignore[import-untyped]
from hypothesis import given, settings
from hypothesis import strategies as st
from netwarp.scenario.model.hops import hops_from

NODES = st.integers(0, 9)


@settings(deadline=None)
@given(st.lists(st.tuples(NODES, NODES), max_size=30), st.lists(NODES, min_size=1, max_size=3, unique=True))
def test_hops_are_those_of_the_graph_library(arcs: list[tuple[int, int]], starts: list[int]) -> None:
    neighbours: dict[int, list[int]] = {}
    for one, other in arcs:
        neighbours.setdefault(one, []).append(other)
    graph = nx.DiGraph(arcs)
    graph.add_nodes_from(starts)
    expected = nx.multi_source_dijkstra_path_length(graph, set(starts), weight=None)
    assert hops_from(starts, neighbours) == expected
