"""The chain that a lab is drawn as, compared with the graph library, on random graphs and on chains."""

from itertools import pairwise
from random import Random

import networkx as nx  # type: ignore[import-untyped]
import pytest
from hypothesis import given
from hypothesis import strategies as st
from netwarp.lab.drawing import chain_of

NODES = st.integers(0, 5).map(str)


@pytest.mark.slow
@given(st.lists(NODES, unique=True, max_size=6), st.lists(st.tuples(NODES, NODES), max_size=7))
def test_a_chain_is_what_the_graph_library_takes_for_one(nodes: list[str], links: list[tuple[str, str]]) -> None:
    every = list(dict.fromkeys([*nodes, *(end for link in links for end in link)]))
    graph = nx.MultiGraph(links)
    graph.add_nodes_from(every)
    tips = [node for node in every if graph.degree(node) == 1]
    joined = len(tips) == 2 and max(degree for _, degree in graph.degree) <= 2 and nx.is_connected(graph)
    assert chain_of(every, links) == (nx.shortest_path(graph, *tips) if joined else [])


@given(st.permutations([str(node) for node in range(6)]), st.randoms(use_true_random=False))
def test_the_links_of_a_chain_may_be_in_any_order(nodes: list[str], rng: Random) -> None:
    links = [pair if rng.random() < 0.5 else pair[::-1] for pair in pairwise(nodes)]
    rng.shuffle(links)
    assert chain_of(nodes, links) == nodes
