"""Scenarios of large networks: a ping across each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence


def network(links: Sequence[tuple[str, str]], ends: tuple[str, str], duration: str) -> str:
    """A scenario of these links; nodes at two links or more forward."""
    degree = Counter(node for pair in links for node in pair)
    text = f'name = "large"\nduration = "{duration}"\n[nodes]\n'
    text += "".join(f"{node} = {{ forward = {str(degree[node] > 1).lower()} }}\n" for node in degree)
    for number, (a, b) in enumerate(links):
        text += f'[links.l{number}]\nends = ["{a}", "{b}"]\nrate = "100mbit"\ndelay = "1ms"\n'
    return text + f'[flows.ping]\ntool = "ping"\nfrom = "{ends[0]}"\nto = "{ends[1]}"\n'


def star(nodes: int, duration: str = "2s") -> str:
    """A router in the middle, hosts h0 … around it."""
    return network([("hub", f"h{i}") for i in range(nodes - 1)], ("h0", f"h{nodes - 2}"), duration)


def tree(branches: int = 12, duration: str = "2s") -> str:
    """A root, routers at it, hosts at each: 157 nodes with 12 branches."""
    links = [("root", f"r{i}") for i in range(branches)]
    links += [(f"r{i}", f"h{i}-{j}") for i in range(branches) for j in range(branches)]
    return network(links, ("h0-0", f"h{branches - 1}-{branches - 1}"), duration)


def chain(nodes: int, reach: int = 60, duration: str = "2s") -> str:
    """Routers in a row; the ping goes as far as its hop limit allows."""
    return network([(f"n{i}", f"n{i + 1}") for i in range(nodes - 1)], ("n0", f"n{reach}"), duration)
