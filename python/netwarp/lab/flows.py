"""Flows of the lab: addresses, ports, start times with their seeded offset, and the fields of each tool."""

from __future__ import annotations

from typing import Any

from netwarp.lab.draws import draw_below, seed_for
from netwarp.lab.model import LabFlow
from netwarp.lab.network import Network
from netwarp.lab.sizes import Sizes
from netwarp.scenario.fields import Spread
from netwarp.scenario.flows import (
    BulkFlow,
    CommandFlow,
    FlowBase,
    Iperf3Flow,
    OnOffFlow,
    PingFlow,
    RequestFlow,
)
from netwarp.scenario.model import Scenario

FIRST_SOURCE_PORT = 20000
FIRST_DESTINATION_PORT = 5001
MIN_START_JITTER_NS = 10_000_000
IP_HEADER_BYTES = {"ipv4": 20, "ipv6": 40}
UDP_HEADER_BYTES = 8


def build_flows(network: Network, sizes: Sizes, seed: int) -> list[LabFlow]:
    """One entry for each single flow, in file order; a group of several gives `name.0`, `name.1` …"""
    flows: list[LabFlow] = []
    for group, flow in network.scenario.flows.items():
        source, destination = _addresses(network, sizes, group)
        mtu = min(network.links[hop.link].mtu for hop in sizes.paths[group].forward)
        for number in range(flow.count):
            name = group if flow.count == 1 else f"{group}.{number}"
            phase = group if _is_connected_ahead(flow) else name
            start, duration = _times(network.scenario, flow, phase, sizes.base_rtt_ns[group], seed)
            flows.append(
                {
                    "id": len(flows),
                    "name": name,
                    "group": group,
                    "tool": _tool(flow),
                    "from": flow.from_,
                    "to": flow.to,
                    "family": flow.family,
                    "source": source,
                    "destination": destination,
                    "source_port": FIRST_SOURCE_PORT + len(flows),
                    "destination_port": FIRST_DESTINATION_PORT + len(flows),
                    "start_ns": start,
                    "duration_ns": duration,
                    "seed": seed_for(seed, "flow", name),
                    **tool_fields(flow, mtu),
                }
            )
    return flows


def _tool(flow: FlowBase) -> str:
    return str(getattr(flow, "tool"))  # noqa: B009 every concrete flow has it, FlowBase does not


def _is_connected_ahead(flow: FlowBase) -> bool:
    """Whether the flows of its group are one test's streams, which start to send in the same instant."""
    return isinstance(flow, BulkFlow) and flow.connect_ahead > 0


def _addresses(network: Network, sizes: Sizes, group: str) -> tuple[str, str]:
    """The source's address on the first link of the path, and the destination's on the last."""
    version = 4 if network.scenario.flows[group].family == "ipv4" else 6
    first, last = sizes.paths[group].forward[0], sizes.paths[group].forward[-1]
    source = network.addresses[first.link][version][first.direction]
    destination = network.addresses[last.link][version][1 - last.direction]
    return str(source.ip), str(destination.ip)


def _times(scenario: Scenario, flow: FlowBase, phase: str, base_rtt_ns: int, seed: int) -> tuple[int, int]:
    """Start, with its offset uniform over [0, start jitter), and duration; both within the run."""
    jitter = scenario.run.start_jitter
    width = max(base_rtt_ns, MIN_START_JITTER_NS) if jitter is None else jitter
    start = min(flow.start + draw_below(width, seed, "start", phase), scenario.duration - 1)
    left = scenario.duration - start
    return start, left if flow.duration is None else min(flow.duration, left)


def tool_fields(flow: FlowBase, mtu: int) -> dict[str, Any]:
    """The fields of the flow's own tool, in integers with their unit in the name; `mtu` is the least on its way."""
    if isinstance(flow, BulkFlow):
        return {"cc": flow.cc, "bytes": flow.bytes, "connect_ahead_ns": flow.connect_ahead}
    if isinstance(flow, PingFlow):
        return {"interval_ns": flow.interval, "size": flow.size}
    if isinstance(flow, RequestFlow):
        return {
            "cc": flow.cc,
            **_spread("request_size", "bytes", flow.request_size),
            **_spread("response_size", "bytes", flow.response_size),
            **_spread("think", "ns", flow.think),
        }
    if isinstance(flow, Iperf3Flow):
        rate = {"protocol": flow.protocol, "rate_bps": flow.rate}
        return {**rate, "cc": flow.cc, "bytes": flow.bytes, "args": list(flow.args)}
    if isinstance(flow, CommandFlow):
        server = list(flow.server) if flow.server else None
        ready = int(flow.ready.split()[1]) if flow.ready else None
        return {"client": list(flow.client), "server": server, "ready_port": ready}
    return _udp_fields(flow, mtu)


def _udp_fields(flow: Any, mtu: int) -> dict[str, Any]:
    # Sizes that are drawn are cut at one packet; a size that was asked for is kept, and fragmented if it must be.
    most = max(mtu - IP_HEADER_BYTES[flow.family] - UDP_HEADER_BYTES, flow.packet_size.mean)
    fields = {
        "rate_bps": flow.rate,
        **_spread("packet_size", "bytes", flow.packet_size),
        "packet_size_most_bytes": most,
    }
    if isinstance(flow, OnOffFlow):
        fields |= {**_spread("on", "ns", flow.on), **_spread("off", "ns", flow.off)}
    return fields


def _spread(name: str, unit: str, spread: Spread) -> dict[str, Any]:
    return {f"{name}_{unit}": spread.mean, f"{name}_distribution": spread.distribution}
