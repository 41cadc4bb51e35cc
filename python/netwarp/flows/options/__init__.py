"""The options of flows whose sockets are the agent's own, one record each. Stages ask these records, and do not name
single options.

CONTRIBUTING.md says how to add one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from netwarp.flows.kind import FlowBase, Transport
from netwarp.flows.options.option import FlowOption
from netwarp.flows.options.routes import DELAYED_ACKS, ECN, INITIAL_WINDOW
from netwarp.flows.options.sockets import (
    DSCP,
    MSS,
    NOTSENT_LOWAT,
    PACING_RATE,
    PRIORITY,
    RECEIVE_BUFFER_SIZE,
    SEND_BUFFER_SIZE,
    SETSOCKOPT,
)
from netwarp.lab_format.model import LabSocketOption
from netwarp.lab_format.nodes import LabRouteMetric

OPTIONS: tuple[FlowOption, ...] = (
    DSCP,
    ECN,
    PRIORITY,
    INITIAL_WINDOW,
    PACING_RATE,
    MSS,
    SEND_BUFFER_SIZE,
    RECEIVE_BUFFER_SIZE,
    NOTSENT_LOWAT,
    DELAYED_ACKS,
    SETSOCKOPT,
)
"""All options, in the order in which sockets get them: the kernel derives a priority from a DSCP, so `priority` is
later. Add a new one here."""


def of_transport(transport: Transport) -> tuple[FlowOption, ...]:
    """The options of flows of this transport."""
    return tuple(option for option in OPTIONS if transport in option.transports)


def option_fields(transport: Transport) -> tuple[dict[str, Any], dict[str, Any]]:
    """The annotations and the defaults of the fields of these flows in a scenario, by name."""
    fields = {option.name: option.field() for option in of_transport(transport)}
    return {name: kind for name, (kind, _) in fields.items()}, {name: field for name, (_, field) in fields.items()}


def given_options(flow: FlowBase) -> Iterator[tuple[FlowOption, Any]]:
    """The options that a flow of a scenario has, with their values."""
    for option in OPTIONS:
        value = getattr(flow, option.name, option.default)
        if value != option.default:
            yield option, value


def socket_options(flow: FlowBase, transport: Transport | None) -> tuple[LabSocketOption, ...]:
    """The socket options of a flow; `dscp` and `ecn` set bits of one octet."""
    found: dict[tuple[str, int, int], LabSocketOption] = {}
    for option, value in given_options(flow):
        for one in option.sockets(value, transport, flow.family):
            key = (one.name, one.level, one.option)
            bits = found[key].value if key in found else 0
            found[key] = LabSocketOption(name=one.name, level=one.level, option=one.option, value=one.value | bits)
    return tuple(found.values())


def route_metrics(flow: FlowBase, transport: Transport | None) -> tuple[LabRouteMetric, ...]:
    """The metrics of the route that a flow's connections need; none if they take the node's routes."""
    return tuple(one for option, value in given_options(flow) for one in option.metrics(value, transport))
