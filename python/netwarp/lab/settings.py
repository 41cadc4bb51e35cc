"""Every sysctl that differs from the kernel's default, with the reason. Engines set exactly these.

The order of a table is the order in which it is written, since some settings write others (ip_forward sets the
forwarding of every interface, and the packets that a router does not accept).
"""

from __future__ import annotations

from collections.abc import Mapping

OPEN_FILES = 65_536
"""The limit for each process: a connection takes three descriptors, so this suffices for twenty thousand flows."""

MACHINE: Mapping[str, str] = {
    # Each connection has two threads; the kernel's default limits their stacks to an eighth of its memory.
    "kernel.threads-max": "65536",
    # Each node is a network namespace; the kernel's default also depends on the machine's size (fork_init()).
    "user.max_net_namespaces": "65536",
    # The kernel's limits on the memory of all sockets depend on the size of the machine, which here is small and shared
    # by all nodes of the lab: under pressure (tcp_under_memory_pressure()) receivers would close their windows and drop
    # segments in order, so that the machine's memory would decide the result. A machine that is too small fails with
    # an error instead.
    "net.ipv4.tcp_mem": "16777216 16777216 16777216",
    "net.ipv4.udp_mem": "16777216 16777216 16777216",
}
"""Sysctls of the whole machine, for all namespaces together."""

WIRE: Mapping[str, str] = {
    # The wires carry frames from one interface to another and have no addresses.
    "net.ipv6.conf.all.disable_ipv6": "1",
    "net.ipv6.conf.default.disable_ipv6": "1",
}
"""Sysctls of the hidden namespace that holds the wires."""

_NODE: Mapping[str, str] = {
    # No duplicate address detection, router solicitations, advertisements or link-local groups, so that only the lab's
    # traffic crosses the links.
    "net.ipv6.conf.default.accept_dad": "0",
    "net.ipv6.conf.default.dad_transmits": "0",
    "net.ipv6.conf.default.router_solicitations": "0",
    "net.ipv6.conf.default.accept_ra": "0",
    "net.ipv6.conf.default.autoconf": "0",
    "net.ipv6.conf.default.addr_gen_mode": "1",
    # The path back may differ from the path there.
    "net.ipv4.conf.all.rp_filter": "0",
    "net.ipv4.conf.default.rp_filter": "0",
    # No connection passes on measurements of the path to later ones.
    "net.ipv4.tcp_no_metrics_save": "1",
    # No limit on ICMP messages, and echo requests by any user.
    "net.ipv4.icmp_ratelimit": "0",
    "net.ipv4.ping_group_range": "0 2147483647",
}
_FORWARDING: Mapping[str, str] = {"net.ipv4.ip_forward": "1", "net.ipv6.conf.all.forwarding": "1"}


_SHARED: Mapping[str, str] = {
    # A user namespace has only one group.
    "net.ipv4.ping_group_range": "0 0",
}
"""Sysctls of nodes on a machine that others also use."""


_CLOSING: Mapping[str, str] = {
    # Connections that have just been closed (TIME_WAIT). The kernel's default depends on the machine's size
    # (tcp_sk_init()), and is below what a thousand connections a second leave.
    "net.ipv4.tcp_max_tw_buckets": "1048576",
}
"""Sysctls of nodes whose flows close connections during the run."""


def node_sysctl(
    forward: bool, socket_bytes: int, given: Mapping[str, str], *, shared: bool = False, closes: bool = False
) -> dict[str, str]:
    """The sysctls of a node: netwarp's, overridden by those of the scenario, in an order that does not depend on the
    file. `socket_bytes` is the largest buffer of a TCP socket; `shared`: whether others also use the machine; `closes`:
    whether flows close their connections there during the run."""
    sizes = {
        "net.ipv4.tcp_rmem": f"4096 131072 {socket_bytes}",
        "net.ipv4.tcp_wmem": f"4096 16384 {socket_bytes}",
    }
    own = {**_NODE, **(_SHARED if shared else {}), **(_FORWARDING if forward else {}), **(_CLOSING if closes else {})}
    return {**own, **sizes, **dict(sorted(given.items()))}
