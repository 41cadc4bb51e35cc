"""A node of the network: the tables `nodes.NAME`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from netwarp.scenario.model.energy import NodeModelField
from netwarp.values.fields import (
    Duration,
    Model,
    Name,
    PositiveDuration,
    Sysctl,
    about,
)

Behaviour = Literal["endpoint-independent", "address-dependent", "address-and-port-dependent"]
"""Behaviours of mappings and filters in the terms of RFC 4787 (§4.1, §5)."""


class Nat(Model):
    """A router's translation of addresses, for UDP and TCP over IPv4, in the terms of RFC 4787. A behaviour in place of
    the table, such as `nat = "address-dependent"`, is that of both `mapping` and `filtering`."""

    mapping: Behaviour = about(
        "When a host inside keeps its external port: `endpoint-independent`: whatever it sends to; "
        "`address-dependent`: for each remote address; `address-and-port-dependent`: for each remote address and port.",
        "address-and-port-dependent",
        refused=["symmetric"],
        default="endpoint-independent",
    )
    filtering: Behaviour = about(
        "Who can send to that port: `endpoint-independent`: everyone; `address-dependent`: addresses that it has sent "
        "to; `address-and-port-dependent`: addresses and ports that it has sent to.",
        "endpoint-independent",
        refused=["restricted cone"],
        default="address-and-port-dependent",
    )
    outside: Name | None = about(
        "The link to the outside, whose IPv4 address becomes that of all hosts inside; default: the last one of this "
        "node in the file.",
        "bottleneck",
        refused=["botleneck"],
        default=None,
    )
    ports: Literal["preserved", "random"] | None = about(
        "Whether the external port is the internal one, or a random one (from the seed). Default: preserved if "
        "`mapping` is endpoint-independent, otherwise random.",
        "random",
        refused=["same"],
        default=None,
    )
    hairpinning: bool = about(
        "Whether hosts inside reach each other by their external addresses and ports.",
        False,
        refused=["no"],
        default=True,
        strict=True,
    )
    timeout: PositiveDuration = about(
        "How long a mapping of UDP lasts after the last packet from inside; whole seconds.",
        "30s",
        refused=["0s", "500ms"],
        default=300 * 10**9,
    )

    @property
    def preserves_ports(self) -> bool:
        """Whether external ports are the internal ones."""
        return (self.ports or ("preserved" if self.mapping == "endpoint-independent" else "random")) == "preserved"


def _table(value: Any) -> Any:
    """The table of a behaviour that is written in its place."""
    return {"mapping": value, "filtering": value} if isinstance(value, str) else value


_Written = Annotated[Behaviour, Field(title="behaviour or table")] | Nat


class Node(Model):
    """A host, or a router if it forwards packets. Each node is a network namespace."""

    forward: bool = about(
        "Whether the node forwards packets between its interfaces, as a router does.",
        True,
        refused=["yes"],
        default=False,
        strict=True,
    )
    nat: Annotated[Nat | None, BeforeValidator(_table, json_schema_input_type=_Written)] = about(
        "Address translation of a router (see below): the behaviour of its mappings and filters, or a table.",
        "endpoint-independent",
        refused=["full cone"],
        beside={"forward": True},
        default=None,
    )
    sysctl: Sysctl = about(
        "Sysctls of this node's network namespace. `netwarp show` lists those that netwarp sets itself.",
        {"net.ipv4.tcp_ecn": 1},
        refused=[{"tcp_ecn": 1}, {"net.core.default_qdisc": "fq"}],
        default_factory=dict,
    )
    energy: NodeModelField | None = about(
        "Model of this node's energy, as a switch, a host or a radio: a shipped one, or a file (relative to the "
        "scenario's). It is computed after the run and changes no packet ([energy.md](energy.md)).",
        "lte",
        refused=["umts", "1000base-t"],
        default=None,
    )
    syscall_time: Duration = about(
        "How long each system call of a program on this node takes: of `command` flows, tuners and a shell. Built-in "
        "flows make none.",
        "300ns",
        refused=[300],
        default=0,
    )
