"""Notes for the author of a valid scenario on its network: cases in which hosts behave unexpectedly."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from netwarp.flows import kind_of
from netwarp.lab.network import Hop, NetworkGraph
from netwarp.lab.sizes import MEMORY_PER_OPEN, MIN_SOCKET_BYTES, Sizes
from netwarp.scenario.check.datagrams import fragments
from netwarp.scenario.model import Scenario
from netwarp.scenario.points.notes import Found

_MANY = 1000
"""The fewest open connections of a flow that are noted."""
_RMEM, _WMEM = "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"
_WMEM_BYTES = 4_194_304  # the kernel's default of tcp_wmem[2] on hosts with plenty of memory


def network_notes(scenario: Scenario) -> Iterator[Found]:
    """Find notes for `netwarp.scenario.points.notes` on a scenario without sweep and cases."""
    network = NetworkGraph(scenario)
    sizes = Sizes(scenario, network)
    yield from _own_bottlenecks(scenario, sizes)
    yield from _late_on_busy_links(scenario, sizes)
    yield from _socket_sizes(scenario, sizes)
    yield from _dctcp_alone(scenario, sizes)
    yield from _fragments(scenario, sizes)
    yield from _queues_of_answers(scenario, sizes)
    yield from _overload(scenario, sizes)


def _is_tcp(name: str, sizes: Sizes) -> bool:
    flow = sizes.scenario.flows[name]
    return kind_of(flow.tool).transport_of(flow.own_fields(sizes.flow_path(name))) == "tcp"


def _is_reverse(name: str, sizes: Sizes) -> bool:
    flow = sizes.scenario.flows[name]
    return kind_of(flow.tool).is_reverse(flow.own_fields(sizes.flow_path(name)))


def _own_bottlenecks(scenario: Scenario, sizes: Sizes) -> Iterator[Found]:
    """Find senders at their bottleneck, whose queue TCP small queues keep empty (tcp_small_queue_check())."""
    for name, flow in scenario.flows.items():
        if not (flow.count and _is_tcp(name, sizes)):
            continue
        reverse = _is_reverse(name, sizes)
        path = sizes.paths[name].reverse if reverse else sizes.paths[name].forward
        links = [(sizes.network.links[hop.link], hop.direction) for hop in path]
        if any(link.ends[direction] in link.raw for link, direction in links):
            continue  # the author's tc commands: their rate is unknown
        rates = [max(sizes.network.rates(hop)) for hop in path]
        if rates[0] == min(rates):
            link = sizes.network.names[path[0].link]
            sender = flow.to if reverse else flow.from_
            yield (
                ("flows", name),
                f'its sender {sender} is at its bottleneck, link "{link}", whose queue it does not fill: TCP '
                "keeps all but two packets, or a millisecond's worth, of a connection out of its own host's queue (TCP "
                "small queues); for a queue that fills, put a router in between, with a faster link to it",
            )


def _late_on_busy_links(scenario: Scenario, sizes: Sizes) -> Iterator[Found]:
    """Find jitter and falling delays at the bottlenecks of flows that keep them busy.

    A packet arrives when it is due, or behind the one in front by its own time at the rate, if that is later: with
    netem (netem_enqueue()) as on a device. So of packets without a gap each is as late as the latest before it.
    """
    for name, flow in scenario.flows.items():
        if not (flow.count and kind_of(flow.tool).greedy):
            continue
        path = sizes.paths[name].reverse if _is_reverse(name, sizes) else sizes.paths[name].forward
        hop = min(path, key=lambda hop: min(sizes.network.rates(hop)))
        link = sizes.network.names[hop.link]
        if sizes.network.opportunities(hop) or scenario.links[link].raw:
            continue
        states = [state for _, state in sizes.network.timeline(hop)]
        found = []
        if any(state.jitter.ns for state in states):
            found.append(("jitter", "its jitter"))
        if any(after.delay < before.delay for before, after in pairwise(states)):
            found.append(("delay", "a shorter delay"))
        for what, words in found:
            yield (
                ("links", link, what),
                f'while the flow "{name}" keeps this link busy, {words} does not show: packets stay in order and are '
                "never faster than the rate, so that each is as late as the latest before it; for a delay that "
                "varies under load, give it to a faster link of the path",
            )


def _socket_sizes(scenario: Scenario, sizes: Sizes) -> Iterator[Found]:
    """Find paths that hold more than the kernel's default maximum of a buffer; one sentence for all points."""
    tcp = [flow for name, flow in scenario.flows.items() if flow.count and _is_tcp(name, sizes)]
    nodes = {node for flow in tcp for node in (flow.from_, flow.to)}
    if not any(sizes.socket_bytes(node) > MIN_SOCKET_BYTES for node in nodes):
        return
    given = {sysctl for node in nodes for sysctl in scenario.given_sysctl(node)}
    free = {_RMEM, _WMEM} - given
    if len(free) == 2:
        yield (
            ("nodes",),
            f"tcp_rmem and tcp_wmem are larger than a host's own defaults ({MIN_SOCKET_BYTES} and {_WMEM_BYTES} bytes"
            "), so that no buffer limits a flow here; `netwarp show` lists them, and `sysctl` of a node sets others",
        )
    elif free:
        name, usual = ("tcp_rmem", MIN_SOCKET_BYTES) if _RMEM in free else ("tcp_wmem", _WMEM_BYTES)
        yield (
            ("nodes",),
            f"{name} is larger than a host's own default ({usual} bytes), so that it limits no flow here; `netwarp "
            "show` lists it, and `sysctl` of a node sets another",
        )


def _fragments(scenario: Scenario, sizes: Sizes) -> Iterator[Found]:
    """Find datagrams that IP fragments."""
    for name, flow in scenario.flows.items():
        if not flow.count or (datagram := flow.datagram) is None:
            continue
        mtus = [sizes.network.links[hop.link].mtu for hop in sizes.paths[name].forward]
        parts = fragments(datagram.ip_payload_bytes, flow.family, mtus)
        if parts > 1:
            most = min(mtus) - flow.ip_header_bytes - datagram.ip_payload_bytes + datagram.payload_bytes
            yield (
                ("flows", name, datagram.field),
                f"a datagram of {datagram.payload_bytes} bytes crosses the path in {parts} fragments: it is lost if "
                "one of these is, queues count packets, and where datagrams were lost is not told; one of at most "
                f"{most} bytes is one packet",
            )


def _queues_of_answers(scenario: Scenario, sizes: Sizes) -> Iterator[Found]:
    """Find plain values of `queue`, which are those of a link's first end, if all data leaves at the other end."""
    loads = {name: flow for name, flow in scenario.flows.items() if flow.count and not kind_of(flow.tool).probe}
    if any(kind_of(flow.tool).owns_sockets or getattr(flow, "args", ()) for flow in loads.values()):
        return  # a program, and iperf3 by its arguments (--bidir), may send both ways
    data: dict[Hop, str] = {}
    for name in loads:
        reverse = _is_reverse(name, sizes)
        for way in sizes.ways(name):
            data |= dict.fromkeys(way.reverse if reverse else way.forward, name)
    for number, link in enumerate(sizes.network.links):
        forward, backward = (Hop(number, direction) for direction in range(2))
        if link.queue.forward is None or link.queue.reverse is not None or forward in data or backward not in data:
            continue
        near, far = link.ends
        yield (
            ("links", sizes.network.names[number], "queue"),
            f'it is the queue at the end "{near}", and data (that of the flow "{data[backward]}") leaves at "{far}" '
            f'alone, whose queue is the default; for one there write queue = {{ reverse = "{link.queue.forward}" }}, '
            "or exchange the ends",
        )


def _overload(scenario: Scenario, sizes: Sizes) -> Iterator[Found]:
    """Find open-loop flows that begin more connections than their path completes."""
    for name, flow in scenario.flows.items():
        if not flow.count or (waiting := sizes.open_at_once(name)) < flow.count * _MANY:
            continue
        memory = scenario.run.memory
        needed = MEMORY_PER_OPEN * waiting
        yield (
            ("flows", name, "arrivals"),
            f"more connections begin than the path completes: about {waiting:,.0f} will be open at once, and take "
            + (
                f"{needed / 1e6:,.0f} MB of the machine's memory: raise run.memory, or leave it out"
                if memory is not None and memory < needed
                else f"{needed / 1e6:,.0f} MB of the machine's memory"
            ),
        )


def _dctcp_alone(scenario: Scenario, sizes: Sizes) -> Iterator[Found]:
    """Find DCTCP without offloads; with them CoDel and RED mark whole aggregates, of which a queue has few
    (INET_ECN_set_ce())."""
    for name, flow in scenario.flows.items():
        if flow.count and getattr(flow, "cc", None) == "dctcp":
            links = [sizes.network.names[hop.link] for hop in sizes.paths[name].forward]
            if not all(scenario.links[link].offload for link in links):
                yield (
                    ("flows", name, "cc"),
                    "DCTCP's alpha is higher here than between hosts with offloads, which are off: a threshold marks "
                    "each packet by itself, and fewer of the aggregates that such hosts hand over (`offload = true`)",
                )
