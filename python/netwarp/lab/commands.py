"""The commands that would build a lab by hand, for people to read; engines do the same over netlink."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from netwarp.flows import kind_of
from netwarp.lab.tc import change_rate
from netwarp.lab_format.links import LabEnd, LabLink, LabOpportunities
from netwarp.lab_format.model import Lab, LabChange, LabFlowChange
from netwarp.lab_format.nodes import LabFlowRoute
from netwarp.lab_format.wires import PROPERTIES, LabWire
from netwarp.values.constants import UNLIMITED_WIRE_BYTES_PER_S, WIRE_ALLOWANCE_BYTES_PER_S
from netwarp.values.fields import NODE_WIRE
from netwarp.values.units import format_duration, format_rate

TC_EXACT_NS = 8_000
"""The unit of times that tc passes on exactly: it truncates them to microseconds, and gives them to the kernel in ticks
of 64 ns (get_time(), PSCHED_SHIFT)."""
MAX_FLOWS = 40
"""The most flows that are printed."""
MAX_CHANGES = 40
"""The most changes that are printed."""


def commands(lab: Lab) -> list[str]:
    """The ip, tc, ethtool and sysctl commands that build the same network, in the order in which they would be run.

    Comments have what commands cannot express: the seeds of the wires, and the flows.
    """
    lines = [
        "# the whole machine, which in a run is the guest",
        *_sysctls(lab.machine.sysctl),
        f"ulimit -n {lab.machine.open_files}",
    ]
    lines += ["# modules, compiled for its kernel"] if lab.modules else []
    lines += [" ".join(["insmod", f"{m.name}.ko", *_values(m.parameters)]) for m in lab.modules]
    lines += ["# nodes, and the namespace of the wires"]
    lines += [f"ip netns add {name}" for name in (NODE_WIRE, *(node.name for node in lab.nodes))]
    lines += [_in(NODE_WIRE, line) for line in _sysctls(lab.wire.sysctl)]
    for node in lab.nodes:
        lines += [_in(node.name, line) for line in _sysctls(node.sysctl)]
        lines.append(f"ip -n {node.name} link set lo up")
    for link in lab.links:
        lines += _link_lines(link)
    lines += ["# routes"] if lab.routes else []
    for route in lab.routes:
        version = "-6 " if ":" in route.prefix else ""
        where = f"via {route.via} dev {route.interface}"
        lines.append(f"ip {version}-n {route.node} route add {route.prefix} {where} proto static")
    lines += ["# routes of flows with their own options"] if lab.flow_routes else []
    lines += [line for route in lab.flow_routes for line in _flow_route_lines(route)]
    return lines + _flow_lines(lab) + _change_lines(lab)


def _flow_route_lines(route: LabFlowRoute) -> list[str]:
    """The rule and the route of a group's connections at one end."""
    ip = f"ip {'-6 ' if ':' in route.to else ''}-n {route.node}"
    length = 128 if ":" in route.to else 32
    side = "dport" if route.is_source else "sport"
    ports = str(route.first_port) if route.first_port == route.last_port else f"{route.first_port}-{route.last_port}"
    words = [f"via {route.via}"] if route.via else []
    words += [f"dev {route.interface} table {route.table} proto static", *(metric.words for metric in route.metrics)]
    return [
        f"{ip} rule add pref {route.table} to {route.to}/{length} ipproto tcp {side} {ports} lookup {route.table} "
        "protocol static",
        f"{ip} route add {route.to}/{length} {' '.join(words)}",
    ]


def _values(parameters: Mapping[str, str]) -> list[str]:
    return [f"{name}={value}" for name, value in parameters.items()]


def _sysctls(settings: Mapping[str, str]) -> list[str]:
    return [f"sysctl -w {shlex.quote(f'{name}={value}')}" for name, value in settings.items()]


def _flow_lines(lab: Lab) -> list[str]:
    """The first flows, each with its start and its ends; a scenario may have thousands."""
    lines = [f"# time 0 is {format_duration(lab.t0_ns)} after the machine's start"]
    for flow in lab.flows[:MAX_FLOWS]:
        begin, end = flow.start_ns, flow.start_ns + flow.duration_ns
        kind = kind_of(flow.tool)
        own, peer = kind.ports if kind.transport_of(flow.own) in ("tcp", "udp") else (False, False)
        source = _socket(flow.source, flow.source_port if own else None)
        destination = _socket(flow.destination, flow.destination_port if peer else None)
        cc = f", {flow.cc}" if flow.cc else ""
        options = "".join(f", {option.name} {option.value}" for option in flow.sockets)
        when = f"{format_duration(begin)} to {format_duration(end)}"
        lines.append(f"# {when}: {flow.name} ({flow.tool}{cc}{options}) from {source} to {destination}")
    more = len(lab.flows) - MAX_FLOWS
    lines += [f"# … and {more} more flows"] if more > 0 else []
    return lines + _flow_change_lines(lab)


def _flow_change_lines(lab: Lab) -> list[str]:
    """The first changes of flows."""
    found = [(change.at_ns, flow.name, change) for flow in lab.flows for change in flow.changes]
    found.sort(key=lambda one: one[0])
    lines = [f"# at {format_duration(at)}: {name}: {flow_change_words(change)}" for at, name, change in found]
    more = lines[MAX_CHANGES:]
    return lines[:MAX_CHANGES] + ([f"# … and {len(more)} more changes of flows"] if more else [])


def flow_change_words(change: LabFlowChange) -> str:
    """The state of a flow after a change, in words."""
    if not change.active:
        return "not active"
    words = ["active"]
    if change.rate_bps is not None:
        words.append(f"rate {format_rate(change.rate_bps)}")
    if change.think_ns is not None:
        spread = "" if change.think_distribution == "constant" else f" {change.think_distribution}"
        words.append(f"think {format_duration(change.think_ns)}{spread}")
    return ", ".join(words)


def _socket(address: str, port: int | None) -> str:
    if port is None:
        return address
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def _change_lines(lab: Lab) -> list[str]:
    """The first changes of links; a trace has thousands."""
    lines: list[str] = []
    ends = {end.index: end for link in lab.links for end in link.ends}
    devices = {end.index for link in lab.links if link.device for end in link.ends}
    for change in lab.changes[:MAX_CHANGES]:
        at = f"# {_moment(change)}:"
        end = ends[change.index]
        tc = (*change_rate(end.interface, end.shaper, change.rate_bps), *change.tc)
        lines += [f"{at} tc -n {change.node} {line}" for line in tc]
        wire = change.wire
        if wire is not None and end.index in devices:
            lines.append(f"{at} {end.interface} on {end.node}, a wire: {_device_words(wire, end.opportunities)}")
        elif wire is not None:
            device = _peer(lab, change.index)
            lines.append(f"{at} tc -n wire qdisc change dev {device} root {netem_words(wire)}")
            lines += _exact_times(device, wire)
    more = lab.changes[MAX_CHANGES:]
    if more:
        lines.append(f"# … and {len(more)} more changes, the last at {format_duration(more[-1].at_ns)}")
    return lines


def _moment(change: LabChange) -> str:
    if change.when is None:
        return f"at {format_duration(change.at_ns)}"
    since = f"from {format_duration(change.at_ns)} on, " if change.at_ns else ""
    return f"{since}at the first ACK with {change.when}"


def _in(node: str, command: str) -> str:
    return f"ip netns exec {node} {command}"


def _wire_name(end: LabEnd) -> str:
    return f"w{end.index}"


def _peer(lab: Lab, index: int) -> str:
    """The wire interface on which the direction that leaves the interface with this index is emulated."""
    for link in lab.links:
        a, b = link.ends
        if index in (a.index, b.index):
            return _wire_name(b if a.index == index else a)
    raise ValueError(f"no interface has the index {index}")


def _link_lines(link: LabLink) -> list[str]:
    lines = [f"# link {link.name}"]
    a, b = link.ends
    lines += ["# It is a device of netwarp's kernel (kind wire), which ip cannot make."] if link.device else []
    lines += [*_end_lines(a, b, link), *_end_lines(b, a, link)]
    if link.device:
        return lines
    for end, peer in ((a, b), (b, a)):
        wire, other = _wire_name(end), _wire_name(peer)
        lines += [
            f"tc -n wire qdisc add dev {wire} clsact",
            f"tc -n wire filter add dev {wire} ingress pref 1 matchall action mirred egress redirect dev {other}",
            f"tc -n wire qdisc add dev {other} root handle 1: {netem_words(end.wire)}",
            f"# the random numbers of {other}: seed {end.wire.seed}",
            *_exact_times(other, end.wire),
        ]
    return lines


def _end_lines(end: LabEnd, peer: LabEnd, link: LabLink) -> list[str]:
    node, device = end.node, end.interface
    lines = _device_lines(end, link) if link.device else _veth_lines(end, link)
    for address in end.addresses:
        nodad = " nodad" if ":" in address else ""
        lines.append(f"ip -n {node} addr add {address} dev {device}{nodad}")
    lines.append(f"ip -n {node} link set {device} up")
    lines += [] if link.device else [f"ip -n wire link set {_wire_name(end)} up"]
    for address in peer.addresses:
        ip = address.partition("/")[0]
        lines.append(f"ip -n {node} neigh add {ip} lladdr {peer.mac} nud permanent dev {device}")
    if end.opportunities and not link.device:
        lines.append(f"# root of {device} on {node}, 1: {opportunities_words(end.opportunities)}")
    return lines + [f"tc -n {node} {line}" for line in end.tc]


def _veth_lines(end: LabEnd, link: LabLink) -> list[str]:
    node, device = end.node, end.interface
    lines = [
        f"ip link add {device} netns {node} index {end.index} address {end.mac} mtu {link.mtu} type veth "
        f"peer name {_wire_name(end)} netns wire index {end.wire_index} mtu {link.mtu}"
    ]
    return [*lines, *_offload_lines(end, link), _in(NODE_WIRE, f"ethtool -K {_wire_name(end)} tso off gso off gro off")]


def _device_lines(end: LabEnd, link: LabLink) -> list[str]:
    """The end of a link that is a device, as a comment, and the commands for settings that have one."""
    ring = f", ring of {link.ring_pkts}" if link.ring_pkts > 1 else ""
    return [
        f"# {end.interface} on {end.node}, index {end.index}, address {end.mac}, mtu {link.mtu}: a wire, "
        f"cable {link.ends[0].index}{ring}, {_device_words(end.wire, end.opportunities)}",
        *_offload_lines(end, link),
    ]


def _offload_lines(end: LabEnd, link: LabLink) -> list[str]:
    node, device = end.node, end.interface
    switch, segments = ("on", 65535) if link.offload else ("off", 1)
    return [
        f"ip -n {node} link set {device} gso_max_segs {segments}",
        _in(node, f"ethtool -K {device} tso {switch} gso {switch} gro {switch}"),
    ]


def _device_words(wire: LabWire, opportunities: LabOpportunities | None) -> str:
    """The effects of a device on the packets that leave it."""
    words = [_opportunities_text(opportunities) if opportunities else f"rate {wire.rate_bps}bit"]
    words.append(f"delay {wire.delay_ns}ns")
    if wire.jitter_ns:
        words.append(f"jitter {wire.jitter_ns}ns {wire.distribution or 'uniform'}")
    words += [word for found in PROPERTIES if (word := found.described(wire))]
    if wire.jitter_ns or any(found.first(wire) for found in PROPERTIES if not found.only_delays):
        words.append(f"random numbers of seed {wire.seed}")
    return ", ".join(words)


def opportunities_words(found: LabOpportunities) -> str:
    """The discipline of netwarp's kernel for delivery opportunities, which tc cannot set up."""
    return f"opportunity ({_opportunities_text(found)})"


def _opportunities_text(found: LabOpportunities) -> str:
    words = found.trace.split()
    number = sum(int(word.partition("x")[2] or 1) for word in words)
    return (
        f"{number} opportunities of {found.bytes} bytes at {len(words)} "
        f"instants, period {found.period_ms}ms, a packet is its frame {found.overhead_bytes:+d} bytes"
    )


def netem_words(wire: LabWire) -> str:
    """A wire in the syntax of tc-netem(8).

    Its rate is one byte per second above the link's, so that rounding cannot make a queue grow on the wire. Without a
    rate it is one at which any packet takes less than a nanosecond, which keeps packets in order.
    """
    words = [f"netem limit {wire.limit_pkts}"]
    words += [word for found in PROPERTIES for word in found.tc_words(wire)]
    bytes_per_s = UNLIMITED_WIRE_BYTES_PER_S
    if wire.rate_bps is not None:
        bytes_per_s = wire.rate_bps // 8 + WIRE_ALLOWANCE_BYTES_PER_S
    return " ".join([*words, f"rate {8 * bytes_per_s}bit"])


def _exact_times(device: str, wire: LabWire) -> list[str]:
    """The wire's times in nanoseconds, as the kernel gets them, if tc cannot express them."""
    if not (wire.delay_ns % TC_EXACT_NS or wire.jitter_ns % TC_EXACT_NS):
        return []
    jitter = f", jitter {wire.jitter_ns}ns" if wire.jitter_ns else ""
    return [f"# {device} exactly: delay {wire.delay_ns}ns{jitter}; tc counts in microseconds and 64 ns"]
