"""The shapes that a scenario may name. docs/topologies.md describes their names of nodes and links.

A generated host has one link, at which it is the first end. Routers are numbered from 1, hosts in the order of theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from netwarp.scenario.topologies.network import GeneratedLink, Network, defaults, join, router
from netwarp.values.json_values import JsonObject

ShapeName = Literal["star", "dumbbell", "parking-lot", "ring", "fat-tree", "leaf-spine"]
BOTTLENECK = "bottleneck"
"""The name of a dumbbell's middle link, which its shape has instead of `left-right`."""
_FAST = {"access": defaults(rate="1gbit"), "backbone": defaults(rate="10mbit", delay="10ms")}
_EVEN = {kind: defaults(rate="100mbit", delay="1ms") for kind in ("access", "backbone")}


@dataclass(frozen=True)
class Shape:
    """A generator: the `parameters` that it needs, the default fields of its links by their kind (a kind that it does
    not have is left out), and the function that makes it.

    `check` says why these parameters cannot be, by the name of the parameter; empty if they can.
    """

    parameters: tuple[str, ...]
    make: Callable[..., Network]
    links: Mapping[str, JsonObject]
    check: Callable[[Mapping[str, int]], dict[str, str]] = lambda _: {}


def _access(host: str, at: str) -> GeneratedLink:
    return GeneratedLink((host, at), "access")


def _backbone(one: str, other: str) -> GeneratedLink:
    return GeneratedLink((one, other), "backbone")


def _star(n: int) -> Network:
    hosts = [f"h{i}" for i in range(1, n + 1)]
    return join({"hub": router(), **{host: {} for host in hosts}}, [_access(host, "hub") for host in hosts])


def _dumbbell(n: int) -> Network:
    numbers = range(1, n + 1)
    senders, receivers = [f"s{i}" for i in numbers], [f"d{i}" for i in numbers]
    nodes = {"left": router(), "right": router(), **{host: {} for host in (*senders, *receivers)}}
    access = [_access(host, "left") for host in senders] + [_access(host, "right") for host in receivers]
    return Network(nodes, {BOTTLENECK: _backbone("left", "right"), **join(nodes, access).links})


def _parking_lot(n: int) -> Network:
    """`n` hops in a row: s0 sends over all of them to d0, and each hop has its own pair, s1 and d1 …."""
    routers = [f"r{i}" for i in range(1, n + 2)]
    numbers = range(1, n + 1)
    pairs = [("s0", "d0"), *((f"s{i}", f"d{i}") for i in numbers)]
    nodes = {name: router() for name in routers} | {host: {} for pair in pairs for host in pair}
    access = [_access("s0", routers[0]), _access("d0", routers[-1])]
    for i in numbers:
        access += [_access(f"s{i}", routers[i - 1]), _access(f"d{i}", routers[i])]
    return join(nodes, [*map(_backbone, routers, routers[1:]), *access])


def _ring(n: int) -> Network:
    routers = [f"r{i}" for i in range(1, n + 1)]
    nodes = {name: router() for name in routers} | {f"h{i}": {} for i in range(1, n + 1)}
    around = map(_backbone, routers, [*routers[1:], routers[0]])
    return join(nodes, [*around, *(_access(f"h{i}", f"r{i}") for i in range(1, n + 1))])


def _fat_tree(k: int) -> Network:
    """Al-Fares, Loukissas, Vahdat: A Scalable, Commodity Data Center Network Architecture (SIGCOMM 2008), 3.

    `k` pods with k/2 edge and k/2 aggregation switches each; aggregation switch j of every pod has links to the k/2
    core switches from (j-1)·k/2 + 1 on. Routes take the first of equal paths in the order of the links, so each edge
    switch has its first link to another aggregation switch, and the same switch of each pod to another core switch.
    """
    half = k // 2
    nodes: dict[str, JsonObject] = {f"c{i}": router() for i in range(1, half * half + 1)}
    links: list[GeneratedLink] = []
    hosts: list[GeneratedLink] = []
    for pod in range(1, k + 1):
        edges = [f"p{pod}e{i}" for i in range(1, half + 1)]
        above = [f"p{pod}a{i}" for i in range(1, half + 1)]
        nodes |= {name: router() for name in (*above, *edges)}
        for position, name in enumerate(above):
            cores = [f"c{position * half + i}" for i in range(1, half + 1)]
            links += [_backbone(name, core) for core in _from(cores, pod - 1)]
        for position, edge in enumerate(edges):
            links += [_backbone(edge, name) for name in _from(above, position)]
        for edge in edges:
            hosts += [_access(f"h{len(hosts) + i}", edge) for i in range(1, half + 1)]
    nodes |= {link.ends[0]: {} for link in hosts}
    return join(nodes, [*links, *hosts])


def _leaf_spine(leaves: int, spines: int, hosts: int) -> Network:
    above, edges = [f"spine{i}" for i in range(1, spines + 1)], [f"leaf{i}" for i in range(1, leaves + 1)]
    access = [_access(f"h{at * hosts + i}", leaf) for at, leaf in enumerate(edges) for i in range(1, hosts + 1)]
    nodes = {name: router() for name in (*above, *edges)} | {link.ends[0]: {} for link in access}
    up = [_backbone(leaf, name) for at, leaf in enumerate(edges) for name in _from(above, at)]
    return join(nodes, [*up, *access])


def _from(names: list[str], first: int) -> list[str]:
    """The names in their order, but beginning with another one, and with the first after the last."""
    at = first % len(names)
    return names[at:] + names[:at]


def _even(values: Mapping[str, int]) -> dict[str, str]:
    odd = values["k"] % 2
    return {"k": f"a fat tree has an even k, not {values['k']}; half of a switch's ports lead up"} if odd else {}


def _at_least(least: int, why: str) -> Callable[[Mapping[str, int]], dict[str, str]]:
    return lambda values: {"n": f"must be at least {least}, not {values['n']}; {why}"} if values["n"] < least else {}


SHAPES: Mapping[ShapeName, Shape] = {
    "star": Shape(("n",), _star, {"access": _EVEN["access"]}),
    "dumbbell": Shape(("n",), _dumbbell, _FAST),
    "parking-lot": Shape(("n",), _parking_lot, _FAST),
    "ring": Shape(("n",), _ring, _EVEN, _at_least(3, "two routers have one link between them")),
    "fat-tree": Shape(("k",), _fat_tree, _EVEN, _even),
    "leaf-spine": Shape(("leaves", "spines", "hosts"), _leaf_spine, _EVEN),
}
"""Shapes by name."""
FILE_LINKS: Mapping[str, JsonObject] = {"backbone": _EVEN["backbone"]}
"""The fields that links of a file have by default, by their kind."""
