"""Divides a network between several kernels, each of which runs the nodes of one part.

Between two parts there are only links with a delay, for which neither kernel has to know what the other does
(conservative synchronisation: K. M. Chandy and J. Misra, 1979, IEEE Trans. Softw. Eng. SE-5(5)). The shortest of these
delays is the window: the kernels wait for each other once in each. So a division is good if its parts have equal work
and its window is long.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from netwarp.flows import kind_of
from netwarp.lab.network import Hop, NetworkGraph
from netwarp.lab.sizes import Sizes
from netwarp.lab_format.model import LabParts
from netwarp.lab_format.wires import PROPERTIES
from netwarp.scenario.model import Scenario
from netwarp.scenario.model.wire import is_device
from netwarp.values.constants import NS_PER_S
from netwarp.values.wire import bits_within

MIN_WINDOW_NS = 100_000
"""Waiting for another kernel takes some 20 µs, and with shorter windows more than all else."""
WAITING_S = 20e-6
PACKET_S = 3e-6
"""CPU time of a wait, and of a packet at one node (docs/cost.md), to weigh equal work against long windows."""
MIN_RING_BYTES, MAX_RING_BYTES = 1 << 20, 256 << 20
"""The room for frames from one part to another."""
ROOM_PER_BYTE = 8
"""Room for a byte on the wire: the smallest frames come with three times as much about them."""


_SKIPPING = [found.name for found in PROPERTIES if found.skips_delay]


class DivisionError(Exception):
    """The network cannot be divided; the message is the end of a sentence that says why."""


@dataclass(frozen=True)
class Division:
    """The part of each node, and how the parts' kernels work together."""

    part_of: Mapping[str, int]
    parts: LabParts

    @classmethod
    def of(cls, network: NetworkGraph, sizes: Sizes) -> Division:
        """Divide the network of a scenario between `run.cpus` kernels. Raises DivisionError."""
        count = network.scenario.run.cpus
        numbered = range(len(network.links))
        delays = {index: delay for index in numbered if (delay := separable_ns(network, index))}
        weights = _weights(network, sizes)
        found: list[tuple[float, int, Mapping[str, int]]] = []
        for least_ns in sorted({delay for delay in delays.values() if delay >= MIN_WINDOW_NS}, reverse=True):
            groups = _groups(network, {index for index, delay in delays.items() if delay >= least_ns})
            if len(groups) < count:
                continue
            part_of = _dealt(network, groups, weights, count)
            # Without a link between them, parts have nothing to wait for; they meet after the longest delay, as others.
            shortest = min((delays[index] for index in _between(network, part_of)), default=least_ns)
            window_ns = _window_ns(network, part_of, shortest)
            loads: Counter[int] = Counter()
            for node, part in part_of.items():
                loads[part] += weights[node]
            found.append((max(loads.values()) * PACKET_S + NS_PER_S / window_ns * WAITING_S, window_ns, part_of))
        if not found:
            raise DivisionError(_why_not(count, delays))
        _, window_ns, part_of = min(found, key=lambda one: one[0])
        room = ROOM_PER_BYTE * _most_bytes(network, part_of, window_ns)
        ring_bytes = min(max(MIN_RING_BYTES, room), MAX_RING_BYTES)
        return cls(part_of, LabParts(count=count, window_ns=window_ns, ring_bytes=ring_bytes))


def possible_division(network: NetworkGraph, sizes: Sizes) -> Division | None:
    """The division of a scenario's network; None if it has one kernel, or cannot be divided (`obstacles`)."""
    if network.scenario.run.cpus == 1:
        return None
    try:
        return Division.of(network, sizes)
    except DivisionError:
        return None


def obstacles(scenario: Scenario) -> Iterator[str]:
    """Say why the network of a scenario cannot be divided between `run.cpus` kernels, if it cannot."""
    if scenario.workload.has_machine:
        yield "a command has one kernel"
        return
    if scenario.loaded_modules:
        yield "a network with kernel modules has one kernel"
    if any(change.when is not None for change in scenario.changes):
        yield "changes that wait for a state of a flow happen in one kernel"
    if scenario.tuner is not None and scenario.tuner.program is not None:
        yield "a network with programs that tune it has one kernel"
    kinds = {flow.tool: kind_of(flow.tool) for flow in scenario.flows.values()}
    if programs := sorted(tool for tool, kind in kinds.items() if not kind.built_in):
        yield f"flows of programs ({', '.join(programs)}) have one kernel"
    if any(kind.subflows for kind in kinds.values()):
        yield "what an application gets of several subflows is recorded in one kernel"
    network = NetworkGraph(scenario)
    try:
        Division.of(network, Sizes(scenario, network))
    except DivisionError as error:
        yield str(error)


def separable_ns(network: NetworkGraph, link: int) -> int:
    """The shortest delay that a link has in the run, in either direction, if its ends may be in different kernels; 0 if
    not: it must be a device with a rate, whose frames all take the delay at least."""
    if not is_device(network.scenario, network.names[link], devices=True):
        return 0
    shortest = []
    for direction in (0, 1):
        for _, state in network.timeline(Hop(link, direction)):
            if state.rate is None or state.jitter.ns or any(state.wire[name] for name in _SKIPPING):
                return 0
            shortest.append(state.delay)
    return min(shortest)


def _why_not(count: int, delays: Mapping[int, int]) -> str:
    what = f"the network does not fall into {count} parts between which every link"
    if delays and max(delays.values()) < MIN_WINDOW_NS:
        return f"{what} has a delay of at least {MIN_WINDOW_NS / 1e6:g} ms"
    return f"{what} is a device with a rate and a delay, without jitter, reordering and opportunities"


def _weights(network: NetworkGraph, sizes: Sizes) -> Mapping[str, int]:
    """Packets in a second at each node, roughly: flows share the slowest link of their paths equally."""
    paths = {name: [*sizes.paths[name].forward, *sizes.paths[name].reverse] for name in sizes.paths}
    sharing: Counter[int] = Counter()
    for name, hops in paths.items():
        sharing.update(dict.fromkeys({hop.link for hop in hops}, network.scenario.flows[name].count))
    weights = dict.fromkeys(network.attached, 1)
    for name, hops in paths.items():
        count = network.scenario.flows[name].count
        rates = [max(network.rates(hop)) * count / max(sharing[hop.link], 1) for hop in hops]
        packets = int(min(rates, default=0) / (8 * network.scenario.links[network.names[hops[0].link]].mtu))
        for node in {node for hop in hops for node in network.links[hop.link].ends}:
            weights[node] += packets
    return weights


def _groups(network: NetworkGraph, cuts: Iterable[int]) -> list[list[str]]:
    """The nodes that stay together if these links are cut, in the order of a walk from one end of the network."""
    cut = set(cuts)
    group_of: dict[str, int] = {}
    groups: list[list[str]] = []
    for start in network.attached:
        if start in group_of:
            continue
        members = list(_walk(network, start, lambda link: link not in cut))
        group_of |= dict.fromkeys(members, len(groups))
        groups.append(members)
    far = list(_walk(network, next(iter(network.attached))))[-1]
    order = dict.fromkeys(group_of[node] for node in [*_walk(network, far), *network.attached])
    return [groups[number] for number in order]


def _walk(network: NetworkGraph, start: str, follows: Callable[[int], bool] = lambda link: True) -> Iterator[str]:
    """The nodes that links lead to from `start`, the nearest first."""
    seen, queue = {start}, deque([start])
    while queue:
        node = queue.popleft()
        yield node
        for hop in network.attached[node]:
            peer = network.links[hop.link].ends[1 - hop.direction]
            if follows(hop.link) and peer not in seen:
                seen.add(peer)
                queue.append(peer)


def _dealt(
    network: NetworkGraph, groups: Sequence[Sequence[str]], weights: Mapping[str, int], count: int
) -> Mapping[str, int]:
    """Give each part neighbouring groups with about the same share of the work, and at least one."""
    total = sum(weights.values())
    part_of: dict[str, int] = {}
    part, done = 0, 0.0
    for number, group in enumerate(groups):
        weight = sum(weights[node] for node in group)
        left = len(groups) - number
        # The next part begins where this one would come further from its share with the group than without it.
        beyond = done + weight / 2 > total * (part + 1) / count
        if number and part < count - 1 and (beyond or left < count - part):
            part += 1
        part_of |= dict.fromkeys(group, part)
        done += weight
    return part_of


def _between(network: NetworkGraph, part_of: Mapping[str, int]) -> Iterator[int]:
    """The links whose ends are in different parts."""
    for index, link in enumerate(network.links):
        if part_of[link.ends[0]] != part_of[link.ends[1]]:
            yield index


def _window_ns(network: NetworkGraph, part_of: Mapping[str, int], shortest_ns: int) -> int:
    """The shortest delay between parts, or less if more would be on the way than there is room for."""
    most = ROOM_PER_BYTE * _most_bytes(network, part_of, shortest_ns)
    return shortest_ns if most <= MAX_RING_BYTES else max(MIN_WINDOW_NS, shortest_ns * MAX_RING_BYTES // most)


def _most_bytes(network: NetworkGraph, part_of: Mapping[str, int], window_ns: int) -> int:
    """The most bytes that go from one part to another in two windows."""
    most: Counter[tuple[int, int]] = Counter()
    for index in _between(network, part_of):
        ends = network.links[index].ends
        for direction in (0, 1):
            way = (part_of[ends[direction]], part_of[ends[1 - direction]])
            most[way] += bits_within(max(network.rates(Hop(index, direction))), 2 * window_ns) // 8
    return max(most.values(), default=0)
