"""Flows that are found in the records of a command's network, and are in no scenario."""

from __future__ import annotations

import re
from collections.abc import Iterable

from netwarp.flows.kind import COUNTED, FlowKind

TCP, SHORT = "tcp", "tcp-short"
_LONG = re.compile(rf"(?P<hosts>.+)-(?:{'|'.join(COUNTED.values())})-(?P<service>\d+)")

FOUND: dict[str, FlowKind] = {
    kind.tool: kind
    for kind in (
        FlowKind(TCP, transport="tcp", counts_for_fairness=True, found=True),
        # A control connection, or one with small requests, takes no share of a bottleneck.
        FlowKind(SHORT, transport="tcp", found=True),
        *(FlowKind(other, transport=other, found=True) for other in COUNTED.values() if other != TCP),
    )
}


def found_name(source: str, destination: str, protocol: str, service: int, *, short: bool) -> str:
    """The name of the flows from one node to another, to or from this port of the server: `h1-h2-tcp-5201`."""
    return f"{source}-{destination}-{protocol}-{service}{'-short' if short else ''}".replace("/", "_")


def accompanying(names: Iterable[str]) -> set[str]:
    """The names of short flows that accompany a longer flow of the same nodes and port.

    They are control connections, as that of iperf3, and requests, whose answers are the longer flow. Node names may
    contain hyphens, so each way to divide a name into two is tried.
    """
    known, found = set(names), set()
    for match in filter(None, map(_LONG.fullmatch, known)):
        parts = match["hosts"].split("-")
        for at in range(1, len(parts)):
            ends = "-".join(parts[:at]), "-".join(parts[at:])
            for source, destination in (ends, ends[::-1]):
                found.add(found_name(source, destination, TCP, int(match["service"]), short=True))
    return found & known
