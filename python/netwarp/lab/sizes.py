"""Sizes of a lab: bandwidth-delay products, queues, socket buffers, the memory of the virtual machine."""

from __future__ import annotations

import re
from dataclasses import replace
from math import log

from netwarp.flows import FlowPath, kind_of
from netwarp.lab.mptcp import further_paths
from netwarp.lab.network import Hop, NetworkGraph, Path
from netwarp.scenario.model import Scenario
from netwarp.scenario.model.timeline import State
from netwarp.values.constants import ETHERNET_HEADER_BYTES, NS_PER_S
from netwarp.values.qdisc import COUNTS_BYTES, Qdisc

MIB = 2**20
MIN_SOCKET_BYTES = 6_291_456  # the kernel's default of tcp_rmem[2] on hosts with plenty of memory
MAX_SOCKET_BYTES = 2**30  # the largest window that TCP can announce (RFC 7323)
BASE_MEMORY_BYTES = 128 * MIB
MAX_AUTO_MEMORY_BYTES = 1024 * MIB
MEMORY_STEP_BYTES = 32 * MIB
MEMORY_PER_BYTE = 6
"""Bytes of memory for a byte in flight: an skb's true size, its clone for retransmission, and the receiver's copy."""
MEMORY_PER_CONNECTION = 320 * 1024
"""Two threads with their stacks, two sockets with their unsent data. A thousand flows of threads over 100 Mbit/s run in
384 MiB, but not in 256 MiB."""
MEMORY_PER_MOVED = 64 * 1024
"""Where the kernel moves the data: two sockets, and the headers of unsent data, which are zeros that all share. A
thousand over 100 Mbit/s run in 96 MiB, but not in 64 MiB."""
UNSENT_PER_BYTE = 3
"""And bytes of memory for each byte of the largest window that a flow had: its send buffer grows to twice this, with
BBR three times, and does not shrink again (tcp_sndbuf_expand()); its headers are about as large as the data."""
MEMORY_PER_OPEN = 16 * 1024
"""Two sockets without threads, with unsent data. Measured with transfers of 10 kB: 19,000 need 10 to 14 KiB each, and
39,000 at most 10."""
MEMORY_PER_NODE = 512 * 1024
"""A network namespace with its interfaces. Measured: 438 KiB a node in stars and chains of 100 to 300."""
NODES_IN_BASE = 50
DEFAULT_QUEUE_PKTS = 1000

# Default limits of queues in packets, from the kernel's net/sched/sch_*.c.
_DEFAULT_LIMIT_PKTS = {"fq_codel": 10240, "fq_pie": 10240, "fq": 10000, "sfq": 127}
_BYTE_UNITS = {"": 1, "b": 1, "k": 1024, "kb": 1024, "m": MIB, "mb": MIB, "g": 1024 * MIB, "gb": 1024 * MIB}


def bdp_bytes(rate_bps: int, rtt_ns: int) -> int:
    """Bandwidth × delay, in bytes, rounded up."""
    return -(-rate_bps * rtt_ns // (8 * NS_PER_S))


def queue_bytes(queue: Qdisc, frame_bytes: int) -> int:
    """The most bytes that this queue can hold according to its `limit`."""
    match = re.match(r"(\d+)([a-zA-Z]*)\b", queue.option("limit") or "")
    if match is None or match[2].lower() not in _BYTE_UNITS:
        return _DEFAULT_LIMIT_PKTS.get(queue.kind, DEFAULT_QUEUE_PKTS) * frame_bytes
    limit = int(match[1]) * _BYTE_UNITS[match[2].lower()]
    return limit if queue.kind in COUNTS_BYTES else limit * frame_bytes


class Sizes:
    """The sizes that follow from the paths of a scenario's flows."""

    def __init__(self, scenario: Scenario, network: NetworkGraph) -> None:
        """Compute paths and base RTTs of all flows once."""
        self.scenario = scenario
        self.network = network
        self.paths: dict[str, Path] = {name: network.path(f.from_, f.to) for name, f in scenario.flows.items()}
        self.base_rtt_ns: dict[str, int] = {name: network.base_rtt_ns(path) for name, path in self.paths.items()}
        self.further: dict[str, tuple[Path, ...]] = {
            name: further_paths(network, path, scenario.flows[name]) for name, path in self.paths.items()
        }
        self._longest_ns: dict[Hop, int] = {}
        for name in self.paths:
            for path in self.ways(name):
                rtt_ns = network.base_rtt_ns(path)
                for hop in (*path.forward, *path.reverse):
                    self._longest_ns[hop] = max(self._longest_ns.get(hop, 0), rtt_ns)

    def ways(self, name: str) -> tuple[Path, ...]:
        """All paths of the flows of this name: one, or those of its subflows."""
        return (self.paths[name], *self.further[name])

    def default_queue(self, hop: Hop) -> Qdisc:
        """`pfifo limit max(1000, 2 × BDP)`, with the largest rate of this direction and the largest RTT through it."""
        twice = 2 * bdp_bytes(max(self.network.rates(hop)), self._rtt_ns(hop))
        return Qdisc("pfifo", ("limit", str(max(DEFAULT_QUEUE_PKTS, -(-twice // self._frame(hop))))))

    def queue(self, hop: Hop, state: State) -> Qdisc:
        """The queue at the sending end of this hop in a state of the link: the user's, or the default.

        A relative limit refers to the initial rate of this direction, and to the largest RTT through it.
        """
        if not state.queue:
            return self.default_queue(hop)
        return Qdisc.read(state.queue).resolved(self._first_bps(hop), self._rtt_ns(hop), self._frame(hop))

    def _first_bps(self, hop: Hop) -> int:
        """The initial rate; for opportunities their average."""
        if opportunities := self.network.opportunities(hop):
            return opportunities.mean_rate_bps
        return self.network.timeline(hop)[0][1].rate or 0

    def _rtt_ns(self, hop: Hop) -> int:
        """The largest RTT of the flows through this direction of the link; at least that of the link alone."""
        own_ns = self.network.base_rtt_ns(Path((hop,), (Hop(hop.link, 1 - hop.direction),)))
        return max(own_ns, self._longest_ns.get(hop, 0))

    def _frame(self, hop: Hop) -> int:
        return self.network.links[hop.link].mtu + ETHERNET_HEADER_BYTES

    def flow_path(self, name: str) -> FlowPath:
        """The properties of the path of the flows of this name."""
        hops = self.paths[name].forward
        rates = {self.network.names[hop.link]: self._first_bps(hop) for hop in hops}
        return FlowPath(
            mtu=min(self.network.links[hop.link].mtu for hop in hops),
            rate_bps=min(rates.values()),
            # Links that its routes do not take have names as well: one of several shortest paths may be named.
            rates_bps={name: self._first_bps(Hop(link, 0)) for link, name in enumerate(self.network.names)} | rates,
        )

    def _bottlenecks(self, name: str) -> tuple[int, list[Hop]]:
        """The highest rate of this flow's paths together, and the hops where its queue can build up."""
        total, found = 0, []
        for forward in (path.forward for path in self.ways(name)):
            rate = min(max(self.network.rates(hop)) for hop in forward)
            total += rate
            found += [hop for hop in forward if min(self.network.rates(hop)) <= rate]
        return total, found

    def _in_flight_bytes(self, name: str) -> int:
        """The bandwidth-delay product of a flow; of several paths all rates and the longest RTT, for which data of the
        others waits at the receiver."""
        rate, _ = self._bottlenecks(name)
        return bdp_bytes(rate, max(self.network.base_rtt_ns(path) for path in self.ways(name)))

    def _held_bytes(self, hop: Hop) -> int:
        queues = {self.queue(hop, state) for _, state in self.network.timeline(hop)}
        return max(queue_bytes(queue, self._frame(hop)) for queue in queues)

    def _path_bytes(self, name: str) -> int:
        """The most that a flow can have in flight: its bandwidth-delay product, and full queues at its bottlenecks."""
        _, hops = self._bottlenecks(name)
        return self._in_flight_bytes(name) + sum(self._held_bytes(hop) for hop in hops)

    def socket_bytes(self, node: str) -> int:
        """The largest socket buffer on this node: at least 16 times the most bytes in flight of any of its flows.

        The factor is 2, since the kernel counts true sizes, times 8, so that a buffer never limits a flow.
        """
        most = MIN_SOCKET_BYTES
        for name, flow in self.scenario.flows.items():
            if node in (flow.from_, flow.to):
                needed = 16 * self._path_bytes(name)
                if needed > most:
                    most = 1 << (needed - 1).bit_length()
        return min(most, MAX_SOCKET_BYTES)

    def _connections(self, name: str) -> int:
        """The number of connections of all flows of this name."""
        flow = self.scenario.flows[name]
        return flow.count * kind_of(flow.tool).connections_of(flow.own_fields(self.flow_path(name)))

    def open_at_once(self, name: str) -> float:
        """The connections of all flows of this name that are open at once because more begin than the path completes.

        The slowest link counts with its highest rate during the run.
        """
        flow = self.scenario.flows[name]
        path = replace(self.flow_path(name), rate_bps=self._bottlenecks(name)[0])
        return flow.count * flow.open_at_once(path, flow.active_ns(self.scenario.duration))

    def _connection_bytes(self, name: str) -> int:
        """The memory for the connections of all flows of this name."""
        flow = self.scenario.flows[name]
        buffered = getattr(flow, "send_buffer", None) or getattr(flow, "setsockopt", None)
        given = buffered or "net.ipv4.tcp_wmem" in self.scenario.given_sysctl(flow.from_)
        connections = self._connections(name)
        usual = MEMORY_PER_CONNECTION * connections
        if kind_of(flow.tool).moved_by_kernel and not given:
            usual = min(usual, MEMORY_PER_MOVED * connections + UNSENT_PER_BYTE * self._largest_windows(name))
        return max(usual, round(MEMORY_PER_OPEN * self.open_at_once(name)))

    def _largest_windows(self, name: str) -> int:
        """The sum, in bytes, of the largest windows of the flows of this name if they begin one after another: the
        first has all of the path for itself, the next a half, the third a third."""
        count = self.scenario.flows[name].count
        return round(self._path_bytes(name) * (1 + log(count))) if count else 0

    def memory_bytes(self) -> int:
        """The memory of the virtual machine: the user's choice, or as much as the flows' packets may need.

        Auto: 128 MiB and 6 bytes for each byte that flows can have in flight (their BDPs, and the queues at their
        bottlenecks), 1 GiB at most; 320 KiB for each connection, or less if the kernel moves its data and nothing sets
        its send buffer (64 KiB, and what the largest windows add), or 16 KiB for each that is open because an open-loop
        flow overloads its path, if that is more; and 512 KiB for each node beyond 50, in steps of 32 MiB. Flows of one
        name share a path, and so its BDP.
        """
        if self.scenario.run.memory is not None:
            return self.scenario.run.memory
        bottlenecks: set[Hop] = set()
        total = 0
        for name in self.scenario.flows:
            _, hops = self._bottlenecks(name)
            total += self._in_flight_bytes(name)
            bottlenecks.update(hops)
        total += sum(self._held_bytes(hop) for hop in bottlenecks)
        connections = sum(map(self._connection_bytes, self.scenario.flows))
        nodes = MEMORY_PER_NODE * max(len(self.scenario.nodes) - NODES_IN_BASE, 0)
        needed = min(BASE_MEMORY_BYTES + MEMORY_PER_BYTE * total, MAX_AUTO_MEMORY_BYTES) + connections + nodes
        return -(-needed // MEMORY_STEP_BYTES) * MEMORY_STEP_BYTES
