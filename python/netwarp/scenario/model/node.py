"""A node of the network: the tables `nodes.NAME`."""

from __future__ import annotations

from netwarp.values.fields import (
    Duration,
    Model,
    Sysctl,
    about,
)


class Node(Model):
    """A host, or a router if it forwards packets. Each node is a network namespace."""

    forward: bool = about(
        "Whether the node forwards packets between its interfaces, as a router does.",
        True,
        refused=["yes"],
        default=False,
        strict=True,
    )
    sysctl: Sysctl = about(
        "Sysctls of this node's network namespace. `netwarp show` lists those that netwarp sets itself.",
        {"net.ipv4.tcp_ecn": 1},
        refused=[{"tcp_ecn": 1}, {"net.core.default_qdisc": "fq"}],
        default_factory=dict,
    )
    syscall_time: Duration = about(
        "How long each system call of a program on this node takes: of `command` flows, tuners and a shell. Built-in "
        "flows make none.",
        "300ns",
        refused=[300],
        default=0,
    )
