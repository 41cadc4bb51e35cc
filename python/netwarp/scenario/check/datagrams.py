"""Datagrams that are larger than an MTU of their path: their fragments, and those that cannot arrive."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from netwarp.flows import FlowBase
from netwarp.scenario.check.reach import links_between, links_on_paths
from netwarp.scenario.model import Scenario
from netwarp.scenario.source import Keys
from netwarp.values.constants import IPV4_HEADER_BYTES, IPV6_HEADER_BYTES

_FRAGMENT_HEADER_BYTES = 8
"""IPv6's extension header of a fragment (RFC 8200, section 4.5)."""
_NO_DISCOVERY = "net.ipv4.ip_no_pmtu_disc"


def check_datagrams(
    keys: Keys, flow: FlowBase, scenario: Scenario, ends: tuple[tuple[str, ...], ...], forwarding: frozenset[str]
) -> Iterator[tuple[Keys, str]]:
    """Check that datagrams which may not be fragmented fit into the links of their path.

    Linux forbids routers to fragment a datagram that fits into the sender's link (DF of RFC 791, section 3.1), and
    IPv6's routers never do. If there are several shortest paths, or the author decides about DF, nothing is refused.
    """
    datagram = flow.datagram
    least = min(link.mtu for link in scenario.links.values())
    if datagram is None or datagram.ip_payload_bytes <= least - flow.ip_header_bytes:
        return
    names = links_on_paths(dict(zip(scenario.links, ends, strict=True)), forwarding, flow)
    if len(names) != links_between(ends, forwarding, flow.from_, flow.to):
        return
    mtus = {name: scenario.links[name].mtu for name in names}
    smallest = min(mtus, key=lambda name: mtus[name])
    room = mtus[smallest] - flow.ip_header_bytes
    if datagram.ip_payload_bytes <= room:
        return
    most = room - datagram.ip_payload_bytes + datagram.payload_bytes
    if not datagram.may_be_fragmented:
        yield (
            (*keys, datagram.field),
            f'is {datagram.payload_bytes} bytes, and {most} fit into a packet on link "{smallest}" (mtu '
            f"{mtus[smallest]}); these packets are never fragmented: lower it, leave it out, or raise the link's mtu",
        )
        return
    first = next(name for name in names if flow.from_ in scenario.links[name].ends)
    fits_first = datagram.ip_payload_bytes <= mtus[first] - flow.ip_header_bytes
    over_ipv6 = flow.family == "ipv6"
    if datagram.learns_mtu or not (fits_first or (over_ipv6 and mtus[first] > mtus[smallest])):
        return
    if not over_ipv6 and (getattr(flow, "setsockopt", None) or _NO_DISCOVERY in scenario.given_sysctl(flow.from_)):
        return
    why = "routers of IPv6 do not fragment" if over_ipv6 else "a datagram that fits into its first link has DF set"
    yield (
        (*keys, datagram.field),
        f'{datagram.payload_bytes} bytes do not fit into a packet on link "{smallest}" (mtu {mtus[smallest]}), and '
        f'{flow.from_} learns this only when its packets are dropped there: {why}, and link "{first}" has mtu '
        f"{mtus[first]}; lower it to {most}, or give both links the same mtu",
    )


def fragments(ip_payload_bytes: int, family: str, mtus: Sequence[int]) -> int:
    """The number of packets that a datagram is after links with these MTUs: all but a last fragment carry a multiple
    of 8 bytes (RFC 791, section 3.2; RFC 8200, section 4.5). IPv6's sender alone makes fragments, and Linux's gives the
    last one no more than the others (ip6_append_data())."""
    header = IPV4_HEADER_BYTES if family == "ipv4" else IPV6_HEADER_BYTES
    if family == "ipv6":
        room = min(mtus) - header
        carried = (room - _FRAGMENT_HEADER_BYTES) // 8 * 8
        return 1 if ip_payload_bytes <= room else -(-ip_payload_bytes // carried)
    parts = [ip_payload_bytes]
    for mtu in mtus:
        parts = [piece for part in parts for piece in _pieces(part, mtu - header)]
    return len(parts)


def _pieces(part: int, room: int) -> Iterator[int]:
    while part > room:
        yield room // 8 * 8
        part -= room // 8 * 8
    yield part
