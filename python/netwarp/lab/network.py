"""The graph of a scenario: the paths of packets, and their delays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from netwarp.scenario.model import Link, Scenario
from netwarp.scenario.model.addresses import Interface, link_addresses
from netwarp.scenario.model.hops import hops_from
from netwarp.scenario.model.opportunities import Opportunities
from netwarp.scenario.model.timeline import State, timeline
from netwarp.values.constants import ETHERNET_HEADER_BYTES, IPV4_HEADER_BYTES, NS_PER_S, TCP_HEADER_BYTES

ACK_FRAME_BYTES = ETHERNET_HEADER_BYTES + IPV4_HEADER_BYTES + TCP_HEADER_BYTES
"""The size of an Ethernet frame with a TCP acknowledgement with timestamps."""


@dataclass(frozen=True)
class Hop:
    """One link crossed: its index in file order and the direction (0: ends[0] → ends[1])."""

    link: int
    direction: int


@dataclass(frozen=True)
class Leaf:
    """The only link of a node, as its hop, and the node at the other end."""

    hop: Hop
    peer: str


@dataclass(frozen=True)
class Path:
    """The path of a flow's packets, and the path back of the answers."""

    forward: tuple[Hop, ...]
    reverse: tuple[Hop, ...]


def serialisation_ns(size_bytes: int, rate_bps: int) -> int:
    """The transmission time of a frame of this size at this rate, rounded up to a nanosecond."""
    return -(-size_bytes * 8 * NS_PER_S // rate_bps)


class NetworkGraph:
    """The nodes and links of a validated scenario as a graph. Ties are broken by the order of links in the file."""

    def __init__(self, scenario: Scenario) -> None:
        """Read nodes, links and addresses of `scenario`."""
        self.scenario = scenario
        self.links: list[Link] = list(scenario.links.values())
        self.names: list[str] = list(scenario.links)
        self.addresses: list[dict[int, tuple[Interface, Interface]]] = [
            link_addresses(link, index) for index, link in enumerate(self.links)
        ]
        self.attached: dict[str, list[Hop]] = {node: [] for node in scenario.nodes}
        for index, link in enumerate(self.links):
            for direction, node in enumerate(link.ends):
                self.attached[node].append(Hop(index, direction))
        self._timelines: dict[Hop, tuple[tuple[int, State], ...]] = {}
        self._distances: dict[object, dict[str, int]] = {}

    @cached_property
    def interfaces(self) -> list[list[str]]:
        """Interface names by link and end: the user's, else eth0, eth1 … for each node, without names in use."""
        taken: dict[str, set[str]] = {node: set() for node in self.attached}
        for link in self.links:
            for node, name in zip(link.ends, link.interfaces or (), strict=False):
                taken[node].add(name)
        counters = dict.fromkeys(self.attached, 0)
        names: list[list[str]] = []
        for link in self.links:
            names.append(list(link.interfaces or ()))
            for node in link.ends if link.interfaces is None else ():
                while f"eth{counters[node]}" in taken[node]:
                    counters[node] += 1
                names[-1].append(f"eth{counters[node]}")
                counters[node] += 1
        return names

    @cached_property
    def _written(self) -> list[dict[int, tuple[str, str]]]:
        """The addresses of both ends of each link, by version, as text."""
        return [
            {version: (str(pair[0].ip), str(pair[1].ip)) for version, pair in pairs.items()} for pairs in self.addresses
        ]

    def gateway(self, hop: Hop, version: int) -> str:
        """The address of the node at the other end of a hop."""
        return self._written[hop.link][version][1 - hop.direction]

    @cached_property
    def leaves(self) -> dict[str, Leaf]:
        """The nodes with one link, to a forwarding node that has others: they reach what this reaches."""
        found = {}
        for node, hops in self.attached.items():
            for hop in hops if len(hops) == 1 else ():
                peer = self.links[hop.link].ends[1 - hop.direction]
                if self.scenario.nodes[peer].forward and len(self.attached[peer]) > 1:
                    found[node] = Leaf(hop, peer)
        return found

    @cached_property
    def _behind(self) -> dict[str, list[str]]:
        """The neighbours from which packets come, for each forwarding node."""
        forwarding = [node for node in self.attached if self.scenario.nodes[node].forward]
        return {node: self._neighbours(node) for node in forwarding}

    @cached_property
    def _onward(self) -> dict[str, list[tuple[Hop, str]]]:
        """The hops from each node to forwarding neighbours, in file order, with the neighbour."""
        found: dict[str, list[tuple[Hop, str]]] = {}
        for node, hops in self.attached.items():
            peers = [(hop, self.links[hop.link].ends[1 - hop.direction]) for hop in hops]
            found[node] = [(hop, peer) for hop, peer in peers if self.scenario.nodes[peer].forward]
        return found

    def _distance(self, key: object, starts: tuple[str, ...]) -> dict[str, int]:
        """The number of hops to the nearest of `starts`, through forwarding nodes, for every node that can reach it."""
        if key not in self._distances:
            self._distances[key] = hops_from(starts, self._behind)
        return self._distances[key]

    def _step(self, node: str, distance: dict[str, int]) -> Hop | None:
        """The first link, in file order, that leads one hop nearer through a forwarding node."""
        nearer = distance.get(node, 0) - 1
        for hop, peer in self._onward[node]:
            if distance.get(peer) == nearer:
                return hop
        return None

    @cached_property
    def _behind_inside(self) -> dict[str, list[str]]:
        """The nodes of `_behind` without leaves, since no path leads through these."""
        return {
            node: [other for other in others if other not in self.leaves]
            for node, others in self._behind.items()
            if node not in self.leaves
        }

    def next_hops(self, link: int) -> Iterator[tuple[str, Hop]]:
        """The first hop toward a link's subnet from every node that can reach it, but for its ends and leaves."""
        distance = hops_from(self.links[link].ends, self._behind_inside)
        for node in distance:
            if hop := self._step(node, distance):
                yield node, hop

    def next_hop(self, node: str, link: int) -> Hop | None:
        """The first hop from `node` toward a link's subnet; None if the node is attached to it or cannot reach it."""
        return self._step(node, self._distance(("subnet", link), self.links[link].ends))

    def arrival(self, source: str, target: str) -> Hop:
        """The last hop of the shortest path from `source` to `target`, which decides the destination's address."""
        distance = self._distance(("node", target), tuple(self._neighbours(target)))
        node = source
        while True:
            for hop in self.attached[node]:
                if self.links[hop.link].ends[1 - hop.direction] == target:
                    return hop
            step = self._step(node, distance)
            if step is None:
                raise ValueError(f"{source} cannot reach {target}")
            node = self.links[step.link].ends[1 - step.direction]

    def _neighbours(self, node: str) -> list[str]:
        return [self.links[hop.link].ends[1 - hop.direction] for hop in self.attached[node]]

    def _way(self, source: str, target: str, link: int) -> tuple[Hop, ...]:
        """The hops from `source` to the address of `target` on `link`, along the routes."""
        hops: list[Hop] = []
        node = source
        while node not in self.links[link].ends:
            hop = self.next_hop(node, link)
            if hop is None:
                raise ValueError(f"{source} cannot reach {target}")
            hops.append(hop)
            node = self.links[hop.link].ends[1 - hop.direction]
        if node != target:
            hops.append(Hop(link, self.links[link].ends.index(node)))
        return tuple(hops)

    def path(self, source: str, target: str) -> Path:
        """The path of a flow and back. Raises ValueError if there is none (which validation has refused already)."""
        forward = self._way(source, target, self.arrival(source, target).link)
        return Path(forward, self._way(target, source, forward[0].link))

    def path_over(self, hop: Hop, target: str, arrival: Hop) -> Path | None:
        """The path that begins with `hop` and ends at the address of `target` where `arrival` ends, and the path back
        to the address at the beginning of `hop`.

        A node takes packets for any of its addresses at any of its interfaces. None if there is no such path.
        """
        source, beyond = (self.links[hop.link].ends[end] for end in (hop.direction, 1 - hop.direction))
        if beyond != target and not self.scenario.nodes[beyond].forward:
            return None
        try:
            onward = () if beyond == target else self._way(beyond, target, arrival.link)
            return Path((hop, *onward), self._way(target, source, hop.link))
        except ValueError:
            return None

    def timeline(self, hop: Hop) -> tuple[tuple[int, State], ...]:
        """The state of this direction of the link at the start (time 0), and after each moment that changes it."""
        if hop not in self._timelines:
            self._timelines[hop] = timeline(self.scenario, self.names[hop.link], hop.direction)
        return self._timelines[hop]

    def opportunities(self, hop: Hop) -> Opportunities | None:
        """The delivery opportunities of this direction of the link; None if it has a rate."""
        trace = self.links[hop.link].trace.of(hop.direction)
        return trace.opportunities if trace else None

    def rates(self, hop: Hop) -> list[int]:
        """The rates of this direction of the link during the run, the initial one first; for opportunities the highest
        rate, and 0 for the time between them."""
        if opportunities := self.opportunities(hop):
            return [opportunities.peak_rate_bps, 0]
        return [state.rate for _, state in self.timeline(hop) if state.rate is not None]

    def hop_ns(self, hop: Hop, size_bytes: int) -> int:
        """Delay and transmission time of one frame over one hop; waiting for an opportunity counts as queueing."""
        start = self.timeline(hop)[0][1]
        return start.delay + (0 if start.rate is None else serialisation_ns(size_bytes, start.rate))

    def base_rtt_ns(self, path: Path) -> int:
        """The RTT of a full frame and its acknowledgement through empty queues, at the initial rates and delays."""
        mtu = min(self.links[hop.link].mtu for hop in path.forward)
        there = sum(self.hop_ns(hop, mtu + ETHERNET_HEADER_BYTES) for hop in path.forward)
        return there + sum(self.hop_ns(hop, ACK_FRAME_BYTES) for hop in path.reverse)
