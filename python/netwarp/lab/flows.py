"""Builds the flows of the lab: addresses, ports, start times with their seeded offset, and the fields of each kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from netwarp.flows import FlowBase, kind_of
from netwarp.flows.options import socket_options
from netwarp.flows.transfer_size import TransferSize, mean_of
from netwarp.lab.draws import draw_below, draw_from, seed_for
from netwarp.lab.network import NetworkGraph
from netwarp.lab.sizes import Sizes
from netwarp.lab_format.model import LabCondition, LabFlow, LabFlowChange
from netwarp.scenario.model import Scenario
from netwarp.scenario.model.condition import Condition
from netwarp.scenario.model.flow_timeline import flow_timeline
from netwarp.scenario.model.timeline import FlowState
from netwarp.values.fields import Distribution

FIRST_SOURCE_PORT = 20000
FIRST_DESTINATION_PORT = 5001
MIN_START_JITTER_NS = 10_000_000
SECOND_NS = 1_000_000_000
_ATTEMPTS = 1000
"""Draws of a start until one is within the run."""


def build_flows(network: NetworkGraph, sizes: Sizes, seed: int) -> tuple[LabFlow, ...]:
    """One entry for each single flow, in file order; a group of several flows gives `name.0`, `name.1` …"""
    flows: list[LabFlow] = []
    for group, flow in network.scenario.flows.items():
        source, destination = _addresses(network, sizes, group)
        fields = flow.own_fields(sizes.flow_path(group))
        sockets = socket_options(flow, kind_of(flow.tool).transport_of(fields))
        states = flow_timeline(network.scenario, group)
        for number in range(flow.count):
            name = group if flow.count == 1 else f"{group}.{number}"
            phase = group if flow.starts_together else name
            source_port, destination_port = ports(len(flows))
            one = _drawn(flow, name, network.scenario.duration, seed)
            start, duration = _times(network.scenario, one, phase, sizes.base_rtt_ns[group], seed)
            flows.append(
                LabFlow(
                    id=len(flows),
                    name=name,
                    group=group,
                    tool=flow.tool,
                    from_=flow.from_,
                    to=flow.to,
                    family=flow.family,
                    source=source,
                    destination=destination,
                    source_port=source_port,
                    destination_port=destination_port,
                    start_ns=start,
                    duration_ns=duration,
                    seed=seed_for(seed, "flow", name),
                    changes=_changes(flow, states, number),
                    sockets=sockets,
                    own=fields if one is flow else one.own_fields(sizes.flow_path(group)),
                )
            )
    return tuple(flows)


def _drawn(flow: FlowBase, name: str, run_ns: int, seed: int) -> FlowBase:
    """The flow of this name with its own start, duration and size, where its group has distributions of them."""
    own: dict[str, int] = {}
    for field in ("start", "duration", "bytes"):
        value = getattr(flow, field, None)
        if isinstance(value, Distribution | TransferSize):
            draws = (draw_from(value, seed, f"drawn {field}", name, attempt) for attempt in range(_ATTEMPTS))
            within = (drawn for drawn in draws if field != "start" or drawn < run_ns)
            own[field] = next(within, run_ns - 1)
    return flow.model_copy(update=own) if own else flow


def ports(number: int) -> tuple[int, int]:
    """The source's and the destination's port of the flow with this id."""
    return FIRST_SOURCE_PORT + number, FIRST_DESTINATION_PORT + number


def condition_of(scenario: Scenario, number: int, condition: Condition) -> LabCondition:
    """The condition of the scenario's change `number`, with the ports of the flow's data."""
    group, _, place = condition.flow.rpartition(".")
    name, first = group or condition.flow, 0
    for other, flow in scenario.flows.items():
        if other == name:
            break
        first += flow.count
    source, destination = ports(first + (int(place) if group else 0))
    if kind_of(scenario.flows[name].tool).reverse:
        source, destination = destination, source
    return LabCondition(
        number=number,
        flow=condition.flow,
        source_port=source,
        destination_port=destination,
        variable=condition.variable,
        relation=condition.relation,
        value=condition.value,
    )


def _addresses(network: NetworkGraph, sizes: Sizes, group: str) -> tuple[str, str]:
    """The source's address on the first link of the path, and the destination's on the last."""
    version = 4 if network.scenario.flows[group].family == "ipv4" else 6
    first, last = sizes.paths[group].forward[0], sizes.paths[group].forward[-1]
    source = network.addresses[first.link][version][first.direction]
    destination = network.addresses[last.link][version][1 - last.direction]
    return str(source.ip), str(destination.ip)


def _changes(flow: FlowBase, states: Sequence[tuple[int, FlowState]], number: int) -> tuple[LabFlowChange, ...]:
    """The changes of one flow of the group, of which the first `active` are active.

    A flow starts active, with the values of its fields, unless a change happens at the same moment.
    """
    found: list[LabFlowChange] = []
    last = FlowState(getattr(flow, "rate", None), getattr(flow, "think", None), True)
    for at, state in states:
        its = replace(state, active=number < state.active)
        if its != last:
            think = its.think
            found.append(
                LabFlowChange(
                    at_ns=at,
                    active=bool(its.active),
                    rate_bps=its.rate,
                    think_ns=think.mean if think else None,
                    think_distribution=think.distribution if think else None,
                )
            )
        last = its
    return tuple(found)


def _times(scenario: Scenario, flow: FlowBase, phase: str, base_rtt_ns: int, seed: int) -> tuple[int, int]:
    """Start, with its offset uniform over [0, start jitter), and duration, both within the run.

    Only a program that sends for whole seconds, until the run ends, ends after it: its last second is complete.
    """
    jitter = scenario.run.start_jitter
    width = max(base_rtt_ns, MIN_START_JITTER_NS) if jitter is None else jitter
    start = min(mean_of(flow.start) + draw_below(width, seed, "start", phase), scenario.duration - 1)
    left = scenario.duration - start
    if flow.duration is None and kind_of(flow.tool).whole_seconds:
        return start, -(-left // SECOND_NS) * SECOND_NS
    return start, left if flow.duration is None else min(mean_of(flow.duration), left)
