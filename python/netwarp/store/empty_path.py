"""The path of a flow's packets through a lab, and how long a transfer takes over it when it is empty."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from ipaddress import ip_address, ip_interface, ip_network

import numpy as np
from numpy.typing import NDArray

from netwarp.lab_format.links import LabEnd
from netwarp.lab_format.model import Lab, LabFlow
from netwarp.values.constants import (
    ETHERNET_HEADER_BYTES,
    IP_HEADER_BYTES,
    NS_PER_S,
    TCP_HEADER_BYTES,
    TCP_SYN_OPTIONS_BYTES,
)

_MAX_HOPS = 255


@dataclass(frozen=True)
class Hop:
    """One direction of a link: its rate in bit/s, and its delay in ns."""

    rate_bps: int
    delay_ns: int


@dataclass(frozen=True)
class EmptyPath:
    """A path there and back, whose rates and delays do not change during the run; `mtu` is its smallest, in bytes."""

    forward: tuple[Hop, ...]
    reverse: tuple[Hop, ...]
    mtu: int
    ip_version: int

    @property
    def round_trip_ns(self) -> int:
        """The delays of its links there and back."""
        return sum(hop.delay_ns for hop in (*self.forward, *self.reverse))

    def crossings_ns(self, frame_bytes: int) -> float:
        """The time that a frame of this size takes there, and one back."""
        return _crossing_ns(self.forward, frame_bytes) + _crossing_ns(self.reverse, frame_bytes)

    @property
    def _ack_bytes(self) -> int:
        return ETHERNET_HEADER_BYTES + IP_HEADER_BYTES[self.ip_version] + TCP_HEADER_BYTES

    @property
    def _payload_bytes(self) -> int:
        """The payload of a full segment."""
        return self.mtu + ETHERNET_HEADER_BYTES - self._ack_bytes

    @property
    def bottleneck(self) -> int:
        """The index of the first of the slowest links on the way there."""
        rates = [hop.rate_bps for hop in self.forward]
        return rates.index(min(rates))

    def frames_bytes(self, payload_bytes: NDArray[np.int64]) -> NDArray[np.int64]:
        """The length of the frames in which transfers of these sizes are sent once."""
        segments = -(-payload_bytes // self._payload_bytes)
        lengths: NDArray[np.int64] = payload_bytes + segments * self._ack_bytes
        return lengths

    def busy_ns(self, payload_bytes: NDArray[np.int64]) -> NDArray[np.float64]:
        """The time that the slowest link takes to send these transfers."""
        times: NDArray[np.float64] = self.frames_bytes(payload_bytes) * (8 * NS_PER_S) / self._rate(self.bottleneck)
        return times

    def ideal_ns(self, payload_bytes: NDArray[np.int64]) -> NDArray[np.float64]:
        """The least time from connect() to the arrival of the last byte, for transfers of these sizes.

        It is that of the handshake, in which SYN and SYN-ACK cross the path, and of all frames in one sequence, as if
        the congestion window were unlimited.
        """
        syn = self._ack_bytes + TCP_SYN_OPTIONS_BYTES
        handshake = _crossing_ns(self.forward, syn) + _crossing_ns(self.reverse, syn)
        delay = sum(hop.delay_ns for hop in self.forward)
        times: NDArray[np.float64] = handshake + delay + self._sequence_ns(payload_bytes)
        return times

    def _sequence_ns(self, payload_bytes: NDArray[np.int64]) -> NDArray[np.float64]:
        """The time until the last of the frames has left the last link, without delays of links.

        Links are machines through which the frames pass in order: a flow shop, whose makespan is its longest path from
        the first frame on the first link to the last frame on the last one (S. M. Johnson: Optimal two- and three-stage
        production schedules, 1954). Along it the ACK of the SYN-ACK, which goes before the data, crosses the first
        links, a full frame the next ones, at one of which all full frames follow each other, and the last frame the
        rest.
        """
        before = -(-payload_bytes // self._payload_bytes) - 1
        last_bytes = payload_bytes - before * self._payload_bytes + self._ack_bytes
        links = range(len(self.forward))
        full = [float(self._ns(link, self._payload_bytes + self._ack_bytes)) for link in links]
        ack = np.cumsum([self._ns(link, self._ack_bytes) for link in links])
        last = np.cumsum([self._ns(link, last_bytes) for link in links[::-1]], axis=0)[::-1]
        alone = np.max([ack[link] + last[link] for link in links], axis=0)
        until, after = [ack[0]], [last[-1]]
        for link in links[1:]:
            until.append(max(until[-1] + full[link - 1], ack[link]))
            after.append(np.maximum(after[-1] + full[-link], last[-link - 1]))
        paths = [until[link] + before * full[link] + after[-link - 1] for link in links]
        times: NDArray[np.float64] = np.where(before > 0, np.max(paths, axis=0), alone)
        return times

    def _rate(self, number: int) -> int:
        return self.forward[number].rate_bps

    def _ns(self, number: int, frame_bytes: NDArray[np.int64] | int) -> NDArray[np.float64]:
        """The transmission time of frames on a link."""
        times: NDArray[np.float64] = np.asarray(frame_bytes) * (8 * NS_PER_S) / self._rate(number)
        return times


def _crossing_ns(hops: Sequence[Hop], frame_bytes: int) -> float:
    """The time that one frame takes over all links."""
    return sum(hop.delay_ns + frame_bytes * 8 * NS_PER_S / hop.rate_bps for hop in hops)


def empty_path(lab: Lab, flow: LabFlow) -> EmptyPath | None:
    """The path of a flow; None if it is not known, or if a rate or a delay on it changes or is not a number."""
    forward, reverse = _way(lab, flow.from_, flow.destination), _way(lab, flow.to, flow.source)
    if not forward or not reverse:
        return None
    changing = {change.index for change in lab.changes if change.wire}
    ends = [*forward, *reverse]
    if any(not end.wire.rate_bps or end.index in changing for end in ends):
        return None
    mtus = {end.index: link.mtu for link in lab.links for end in link.ends}
    return EmptyPath(
        forward=tuple(_hops(forward)),
        reverse=tuple(_hops(reverse)),
        mtu=min(mtus[end.index] for end in forward),
        ip_version=ip_address(flow.source).version,
    )


def _hops(ends: Sequence[LabEnd]) -> Iterator[Hop]:
    for end in ends:
        assert end.wire.rate_bps
        yield Hop(end.wire.rate_bps, end.wire.delay_ns)


def _way(lab: Lab, node: str, address: str) -> list[LabEnd]:
    """The ends through which packets to this address leave, from a node on, by the lab's routes; empty if unknown."""
    peers = {one.index: other for link in lab.links for one, other in (link.ends, link.ends[::-1])}
    way: list[LabEnd] = []
    while len(way) < _MAX_HOPS and (end := _leaving(lab, node, address)) is not None:
        way.append(end)
        peer = peers[end.index]
        if any(ip_interface(one).ip == ip_address(address) for one in peer.addresses):
            return way
        node = peer.node
    return []


def _leaving(lab: Lab, node: str, address: str) -> LabEnd | None:
    """The end of this node through which packets to this address leave."""
    own = [end for link in lab.links for end in link.ends if end.node == node]
    wanted = ip_address(address)
    attached = (end for end in own if any(wanted in ip_interface(one).network for one in end.addresses))
    routes = [route for route in lab.routes if route.node == node and wanted in ip_network(route.prefix)]
    best = max(routes, key=lambda route: ip_network(route.prefix).prefixlen, default=None)
    routed = (end for end in own if best is not None and end.interface == best.interface)
    return next(attached, next(routed, None))
