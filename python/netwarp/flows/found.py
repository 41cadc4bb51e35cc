"""Flows that nobody planned, found in the records of a command's network: no scenario has them."""

from __future__ import annotations

from netwarp.flows.kind import FlowKind

TCP, SHORT, UDP = "tcp", "tcp-short", "udp"

FOUND: dict[str, FlowKind] = {
    kind.tool: kind
    for kind in (
        FlowKind(TCP, transport="tcp", counts_for_fairness=True, found=True),
        # What agrees on a test, or asks for little, takes no share of a bottleneck.
        FlowKind(SHORT, transport="tcp", found=True),
        FlowKind(UDP, transport="udp", found=True),
    )
}
