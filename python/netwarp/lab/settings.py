"""Every sysctl that is not the kernel's own default, and why: what an engine sets is what stands here.

The order of a table is the order in which it is written, since some settings write others (ip_forward sets the
forwarding of every interface, and what a router does not accept).
"""

from __future__ import annotations

from collections.abc import Mapping

OPEN_FILES = 65_536
"""Of each process: a connection takes three descriptors, so this is enough for twenty thousand flows."""

MACHINE: Mapping[str, str] = {
    # Each connection has two threads; the kernel's own limit is an eighth of its memory's worth of them.
    "kernel.threads-max": "65536",
    # Each node is a network namespace; the kernel's own limit follows the size of the machine, too (fork_init()).
    "user.max_net_namespaces": "65536",
    # The kernel's limits on the memory of all sockets together follow the size of the machine, which here is small and
    # shared by all nodes of the lab: under their pressure (tcp_under_memory_pressure()) receivers would close their
    # windows and drop what is in order, and the machine's memory would decide the result. A machine that is too small
    # fails instead, and says so.
    "net.ipv4.tcp_mem": "16777216 16777216 16777216",
    "net.ipv4.udp_mem": "16777216 16777216 16777216",
}
"""Of the whole machine, all namespaces together."""

WIRE: Mapping[str, str] = {
    # The wires carry frames from one interface to another and have no addresses.
    "net.ipv6.conf.all.disable_ipv6": "1",
    "net.ipv6.conf.default.disable_ipv6": "1",
}
"""Of the hidden namespace that holds the wires."""

_NODE: Mapping[str, str] = {
    # No duplicate address detection, router solicitations, advertisements or link-local groups: nothing but the lab's
    # traffic crosses the links.
    "net.ipv6.conf.default.accept_dad": "0",
    "net.ipv6.conf.default.dad_transmits": "0",
    "net.ipv6.conf.default.router_solicitations": "0",
    "net.ipv6.conf.default.accept_ra": "0",
    "net.ipv6.conf.default.autoconf": "0",
    "net.ipv6.conf.default.addr_gen_mode": "1",
    # A path back may be another than the path there.
    "net.ipv4.conf.all.rp_filter": "0",
    "net.ipv4.conf.default.rp_filter": "0",
    # No connection teaches the next what the path is like.
    "net.ipv4.tcp_no_metrics_save": "1",
    # No limit on ICMP messages, and echo requests by any user.
    "net.ipv4.icmp_ratelimit": "0",
    "net.ipv4.ping_group_range": "0 2147483647",
}
_FORWARDING: Mapping[str, str] = {"net.ipv4.ip_forward": "1", "net.ipv6.conf.all.forwarding": "1"}


_SHARED: Mapping[str, str] = {
    # In a user namespace there is one group alone.
    "net.ipv4.ping_group_range": "0 0",
}
"""Of nodes on a machine that others use as well."""


def node_sysctl(forward: bool, socket_bytes: int, given: Mapping[str, str], *, shared: bool = False) -> dict[str, str]:
    """The sysctls of a node: netwarp's own, over them what the scenario gives, in an order that the file does not
    decide. `socket_bytes` is the largest buffer of a TCP socket; `shared`: whether others use the machine."""
    sizes = {
        "net.ipv4.tcp_rmem": f"4096 131072 {socket_bytes}",
        "net.ipv4.tcp_wmem": f"4096 16384 {socket_bytes}",
    }
    own = {**_NODE, **(_SHARED if shared else {}), **(_FORWARDING if forward else {})}
    return {**own, **sizes, **dict(sorted(given.items()))}
