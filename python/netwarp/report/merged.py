"""A large network with one node in place of all those that differ only by the number in their names."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from netwarp.common.quantities import count, duration, rate
from netwarp.store.network import Link, LinkDirection, Network

Ends = Mapping[str, tuple[str, str]]


@dataclass(frozen=True)
class Merged:
    """A network of groups, the groups from and to which flows go, and lines of text for each group."""

    network: Network
    ends: Ends
    tags: Mapping[str, Sequence[str]]


def merged(network: Network, ends: Ends, swept: Iterable[str]) -> Merged:
    """Merge nodes whose names differ only in digits and that all forward or all do not; and links between the same
    groups whose wires are alike, except those that a path in `swept` varies.
    """
    groups: dict[tuple[str, bool], list[str]] = defaultdict(list)
    for node in network.nodes:
        groups[re.sub(r"\d+", "#", node), node in network.forwarding].append(node)
    titles = {node: _title(nodes) for nodes in groups.values() for node in nodes}
    tags = {_title(nodes): [_size(nodes, forwards)] for (_, forwards), nodes in groups.items() if len(nodes) > 1}
    alone = {path.split(".")[1] for path in swept if path.startswith("links.") and path.count(".") > 1}
    alike: dict[object, list[Link]] = defaultdict(list)
    for link in network.links:
        alike[_kind(link, titles, alone)].append(link)
    links = [_link(same, titles) for same in alike.values()]
    within = [link for link in links if _joins_itself(link)]
    for link in within:
        tags.setdefault(link.directions[0].source, []).extend(_between(link))
    return Merged(
        Network(
            tuple(dict.fromkeys(titles.values())),
            frozenset(titles[node] for node in network.forwarding),
            tuple(link for link in links if not _joins_itself(link)),
        ),
        {flow: (titles[source], titles[target]) for flow, (source, target) in ends.items()},
        tags,
    )


def _title(nodes: Sequence[str]) -> str:
    """The name of a group: `h1…16`, or `p1e1…p4e2` if more than the last number differs."""
    if len(nodes) == 1:
        return nodes[0]
    first, last = (re.fullmatch(r"(\D*)(\d+)", node) for node in (nodes[0], nodes[-1]))
    alike = first and last and first[1] == last[1]
    return f"{nodes[0]}…{last[2] if alike and last else nodes[-1]}"


def _size(nodes: Sequence[str], forwards: bool) -> str:
    return count(len(nodes), "router" if forwards else "host")


def _kind(link: Link, titles: Mapping[str, str], alone: set[str]) -> object:
    """The key that links drawn as one have in common."""
    own = link.name if link.name in alone else None
    return own, link.mtu, *(_of_group(direction, titles) for direction in link.directions)


def _of_group(direction: LinkDirection, titles: Mapping[str, str]) -> LinkDirection:
    """A direction between groups, without properties that differ from link to link: by default, queues depend on
    flows."""
    source, target = titles[direction.source], titles[direction.target]
    return replace(direction, source=source, target=target, interface="", queue=None, raw=())


def _link(same: Sequence[Link], titles: Mapping[str, str]) -> Link:
    first = same[0]
    forward, reverse = (
        replace(_of_group(first.directions[way], titles), queue=_queue([link.directions[way] for link in same]))
        for way in (0, 1)
    )
    return Link(first.name if len(same) == 1 else count(len(same), "link"), (forward, reverse), first.mtu)


def _queue(same: Sequence[LinkDirection]) -> str | None:
    found = {direction.queue for direction in same}
    return same[0].queue if len(found) == 1 else f"{len(found)} different queues"


def _between(link: Link) -> list[str]:
    """Lines about the links between nodes of one group."""
    forward = link.directions[0]
    wire = [rate(forward.rate_bps), duration(forward.delay_ns)] if forward.delay_ns else [rate(forward.rate_bps)]
    return [f"{link.name} between them:", ", ".join(wire), *([forward.queue] if forward.queue else [])]


def _joins_itself(link: Link) -> bool:
    return link.directions[0].source == link.directions[0].target
