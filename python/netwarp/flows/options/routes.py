"""Options that Linux has for a route and not for a socket: each group of flows with one has its own route, which
a rule chooses by its port (ip-rule(8)). Numbers are those of `linux/rtnetlink.h`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from netwarp.flows.kind import Transport
from netwarp.flows.options.option import Family, FlowOption
from netwarp.flows.options.sockets import traffic_class
from netwarp.lab_format.model import LabSocketOption
from netwarp.lab_format.nodes import LabRouteMetric

_ECT_0 = 2
"""The code point of packets that ECN may mark (RFC 3168, section 5)."""
Switch = Annotated[bool, Field(strict=True)]


@dataclass(frozen=True, kw_only=True)
class _InitialWindow(FlowOption):
    def metrics(self, value: Any, transport: Transport | None) -> Iterator[LabRouteMetric]:
        """RTAX_INITCWND."""
        yield LabRouteMetric(words=f"initcwnd {value}", attribute=11, value=value)


@dataclass(frozen=True, kw_only=True)
class _DelayedAcks(FlowOption):
    def metrics(self, value: Any, transport: Transport | None) -> Iterator[LabRouteMetric]:
        """RTAX_QUICKACK."""
        yield LabRouteMetric(words="quickack 1", attribute=15, value=1)


@dataclass(frozen=True, kw_only=True)
class _Ecn(FlowOption):
    def sockets(self, value: Any, transport: Transport | None, family: Family) -> Iterator[LabSocketOption]:
        """ECT(0) in each datagram."""
        if transport != "tcp":
            yield traffic_class(_ECT_0, family)

    def metrics(self, value: Any, transport: Transport | None) -> Iterator[LabRouteMetric]:
        """RTAX_FEATURES with RTAX_FEATURE_ECN."""
        if transport == "tcp":
            yield LabRouteMetric(words="features ecn", attribute=12, value=1)


ECN = _Ecn(
    name="ecn",
    meaning=(
        "Whether queues may mark its packets (CE) where they would drop them. TCP asks for it when it connects, by a "
        "separate route; without this it does what `net.ipv4.tcp_ecn` of its nodes says, which has no exception for "
        "one flow. Datagrams are ECT(0), and their source does not answer marks."
    ),
    examples=(True,),
    refused=("on",),
    kind=Switch,
    default=False,
    transports=("tcp", "udp"),
)

INITIAL_WINDOW = _InitialWindow(
    name="initial_window",
    meaning=(
        "The congestion window of a new connection in segments, at both ends, by a separate route (`initcwnd`); the "
        "kernel's default is 10 (RFC 6928). A receiver's first window is 64 kB, 44 full segments, unless "
        "`net.ipv4.tcp_rmem` has a larger second value."
    ),
    examples=(32,),
    refused=(0, 1001),
    kind=Annotated[int, Field(strict=True, ge=1, le=1000)],
)

DELAYED_ACKS = _DelayedAcks(
    name="delayed_acks",
    meaning=(
        "Whether receivers delay acknowledgements, as Linux does (RFC 1122, 4.2.3.2); if not, each segment that "
        "arrives is acknowledged at once, by a separate route (`quickack`)."
    ),
    examples=(False,),
    refused=("no",),
    kind=Switch,
    default=True,
)
