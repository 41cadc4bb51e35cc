"""The five-tuples that carry a flow's data."""

from collections import defaultdict
from collections.abc import Iterable
from functools import lru_cache
from ipaddress import ip_address

import polars as pl

from netwarp.flows.kind import COUNTED
from netwarp.store.description import Flow

TCP, UDP, IPV6_FRAGMENT = 6, 17, 44
"""Protocols of tuples; later fragments of a datagram have no ports, and over IPv6 not its protocol (RFC 8200, 4.5)."""
ICMP = (1, 58)
"""Protocols whose tuples have the identifier of an echo in place of the source port, in both directions."""
_Key = tuple[str, int, str, int]


def flow_of_tuples(tuples: pl.DataFrame, flows: tuple[Flow, ...], *, with_control: bool = False) -> dict[int, int]:
    """Return the flow whose data each tuple carries: tuple_id → flow id. Tuples that only acknowledge are left out.

    Data goes from a flow's source to its destination, or the other way if the peer answers. Ports that the lab decides
    are unique. A flow that chooses its source ports itself has all connections with its server's port, except for the
    first if client and server use it to agree on a test (unless `with_control`). Subflows come from several addresses
    to one port. Known source ports decide.
    """
    by_key: dict[_Key, list[tuple[int, int]]] = defaultdict(list)
    by_server: dict[_Key, list[tuple[int, int]]] = defaultdict(list)
    columns = ("tuple_id", "protocol", "source", "source_port", "destination", "destination_port")
    for number, protocol, one, one_port, other, other_port in (
        tuples.sort("tuple_id", maintain_order=True).select(columns).iter_rows()
    ):
        source, destination, ports = _same(one), _same(other), (one_port, other_port)
        by_key[source, ports[0], destination, ports[1]].append((number, protocol))
        by_server[source, 0, destination, ports[1]].append((number, protocol))
        by_server["", 0, destination, ports[1]].append((number, protocol))
        by_server[source, ports[0], destination, 0].append((number, protocol))
    found = {}
    for flow in flows:
        if flow.connections:
            known = [(asked, (_same(a), b, _same(c), d)) for asked, a, b, c, d in flow.connections]
            numbers = [n for asked, key in known for n, protocol in by_key.get(key, []) if protocol == asked]
        elif flow.source_ports:
            wanted = UDP if flow.transport == "udp" else TCP
            keys = [_key(flow, own_port=port) for port in flow.source_ports]
            numbers = [n for key in keys for n, protocol in by_key.get(key, []) if protocol == wanted]
        elif flow.kind.subflows:
            numbers = [n for n, protocol in by_server.get(("", 0, *_key(flow)[2:]), []) if protocol == TCP]
        elif all(flow.kind.ports):
            numbers = [n for n, protocol in by_key.get(_key(flow), []) if protocol in COUNTED]
        elif flow.transport == "icmp":
            numbers = [n for n, protocol in by_key.get(_key(flow, peer_port=0), []) if protocol in ICMP]
        else:
            listed = by_server.get(_key(flow, own_port=0), [])
            leave_out = flow.kind.control_connection and not with_control
            numbers = _but_control(listed) if leave_out else [n for n, _ in listed]
        found.update(dict.fromkeys(numbers, flow.id))
    return found


def _key(flow: Flow, own_port: int | None = None, peer_port: int | None = None) -> _Key:
    """The flow's five-tuple without the protocol, in the data's direction; 0 for any port."""
    own = flow.source_port if own_port is None else own_port
    peer = flow.destination_port if peer_port is None else peer_port
    source, destination = _same(flow.source), _same(flow.destination)
    return (destination, peer, source, own) if flow.reverse else (source, own, destination, peer)


def _but_control(numbers: Iterable[tuple[int, int]]) -> list[int]:
    """All numbers but that of the first TCP connection; they are in the order in which connections were first seen."""
    listed = list(numbers)
    control = next((number for number, protocol in listed if protocol == TCP), None)
    return [number for number, _ in listed if number != control]


@lru_cache(maxsize=65536)
def _same(address: str) -> str:
    """Normalise the spelling of an address. Text that is not an address (in another machine's table) stays as it is."""
    try:
        return str(ip_address(address)) if address else ""
    except ValueError:
        return address
