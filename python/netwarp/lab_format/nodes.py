"""Nodes of a lab: their settings, address translation, and routes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from netwarp.lab_format.objects import FOUND, LabObject
from netwarp.lab_format.quantities import Address, Delay, Name, Port, Settings, Text, Time, UInt32, Yes, meaning

LabRemote = Literal["any", "address", "port"]
"""How much of a remote endpoint counts: nothing, its address, or its address and its port."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabNat(LabObject):
    """Address translation of a router towards one of its links, for UDP and TCP over IPv4 (RFC 4787)."""

    index: Annotated[UInt32, meaning("ifindex of its interface towards the outside")]
    address: Annotated[Address, meaning("the address of that interface, by which all inside hosts appear outside")]
    mapping: Annotated[LabRemote, meaning("the part of the remote endpoint that the external port depends on")]
    filtering: Annotated[LabRemote, meaning("the part of the remote endpoint that must have been sent to before")]
    preserved: Annotated[
        Yes, meaning("whether external ports are the internal ones; otherwise a hash of endpoints")
    ] = False
    hairpin: Annotated[Yes, meaning("whether inside hosts reach each other by their external endpoints")] = False
    timeout_ns: Annotated[Time, meaning("how long a mapping lasts after the last packet from inside")] = 0
    seed: Annotated[UInt32, meaning("the seed of the hash")] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LabMptcpEndpoint(LabObject):
    """An address of a node from which its MPTCP connections may have a subflow (ip-mptcp(8))."""

    address: Address
    interface: Annotated[str, meaning("the interface that sends its packets")]
    backup: Annotated[Yes, meaning("whether the subflow sends only while no other can")]


@dataclass(frozen=True, slots=True, kw_only=True)
class LabMptcp(LabObject):
    """The settings of the kernel's path manager of MPTCP in a node."""

    subflows: Annotated[UInt32, meaning("the most subflows that a connection may have beside its first")]
    endpoints: tuple[LabMptcpEndpoint, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LabNode(LabObject):
    """A network namespace, with its sysctls in the order in which they are set."""

    name: Annotated[Name, meaning("its name in the scenario")]
    forward: Annotated[Yes, meaning("whether it forwards packets (its sysctls contain this, too)")] = False
    sysctl: Annotated[
        Settings,
        meaning("names and values, in the order in which they are set: all that differ from the kernel's defaults"),
    ] = field(default_factory=dict)
    syscall_ns: Annotated[Delay, meaning("the time of each system call of programs that run here")] = 0
    nat: Annotated[LabNat | None, meaning("null: it translates no addresses")] = None
    mptcp: Annotated[LabMptcp | None, meaning("null: the kernel's defaults")] = None
    part: Annotated[UInt32, meaning("the part of the network that it belongs to, from 0")] = 0
    copies: Yes = field(default=False, metadata=FOUND)
    """Whether it may send more or other packets than it received: a switch, an end of a tunnel."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabRoute(LabObject):
    """A route by prefix on one node."""

    node: str
    prefix: Annotated[str, meaning("adjacent subnets with the same next hop share one, such as 10.0.2.0/23")]
    via: Address
    interface: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LabRouteMetric(LabObject):
    """A metric of a route, which its connections take from it."""

    words: Annotated[Text, meaning("in the syntax of ip-route(8)")]
    attribute: Annotated[UInt32, meaning("RTAX_… of linux/rtnetlink.h")]
    value: UInt32


@dataclass(frozen=True, slots=True, kw_only=True)
class LabFlowRoute(LabObject):
    """The route of a group's TCP connections at one of its ends, alone in a table, which a rule of the same number
    chooses by the ports at the flows' destination."""

    flow: Annotated[Name, meaning("the group")]
    node: Name
    table: Annotated[UInt32, meaning("also the priority of its rule")]
    to: Annotated[Address, meaning("the address of the other end")]
    via: Annotated[Address | None, meaning("null: the other end is attached")]
    interface: str
    first_port: Annotated[Port, meaning("the first port of the flows' destinations")]
    last_port: Port
    is_source: Annotated[Yes, meaning("whether these are ports of the other end; otherwise of this one")]
    metrics: tuple[LabRouteMetric, ...]
