"""The flows that plans of links name, as the kernel knows them: addresses, protocol and the destination's port."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from netwarp.flows import kind_of
from netwarp.lab_format.links import LabEnd, LabLink
from netwarp.lab_format.model import LabFlow
from netwarp.lab_format.wires import PROPERTIES, LabWire
from netwarp.lab_format.wires.planned import LabPlannedFlow

_PROTOCOLS = {"tcp": 6, "udp": 17, "sctp": 132}
_ICMP = {"ipv4": 1, "ipv6": 58}


def with_planned_flows(links: Sequence[LabLink], flows: Sequence[LabFlow]) -> tuple[LabLink, ...]:
    """The links, whose plans have the flows of the names that they give."""
    return tuple(replace(link, ends=tuple(_end(end, flows) for end in link.ends)) for link in links)


def _end(end: LabEnd, flows: Sequence[LabFlow]) -> LabEnd:
    found: dict[str, Any] = dict(_planned(end.wire, flows))
    return replace(end, wire=replace(end.wire, **found)) if found else end


def _planned(wire: LabWire, flows: Sequence[LabFlow]) -> Iterator[tuple[str, object]]:
    for one in PROPERTIES:
        plan = one.planned(wire)
        if plan is not None and plan.flow is not None:
            named = (flow for flow in flows if plan.flow in (flow.name, flow.group))
            yield one.plan, replace(plan, flows=tuple(map(_flow, named)))


def _flow(flow: LabFlow) -> LabPlannedFlow:
    transport = kind_of(flow.tool).transport_of(flow.own)
    return LabPlannedFlow(
        protocol=_PROTOCOLS.get(transport or "", _ICMP[flow.family]),
        source=flow.source,
        destination=flow.destination,
        destination_port=flow.destination_port if transport in _PROTOCOLS else 0,
    )
