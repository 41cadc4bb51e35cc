"""The theoretical queue of a run: one Poisson source into one link, from the run's lab."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from netwarp.flows import kind_of
from netwarp.lab_format.model import Lab
from netwarp.store.errors import StoreError
from netwarp.studies.queueing_theory.theory import Means, Service, constant, cut_exponential, mg1, mg1k, mm1, mm1k
from netwarp.values.constants import ETHERNET_HEADER_BYTES, IP_HEADER_BYTES, MIN_PAYLOAD_BYTES, UDP_HEADER_BYTES
from netwarp.values.qdisc import Qdisc

HEADER_BYTES = {
    f"ipv{version}": ETHERNET_HEADER_BYTES + ip + UDP_HEADER_BYTES for version, ip in IP_HEADER_BYTES.items()
}
ENDLESS_PKTS = 1000
"""The limit from which a queue counts as one that never fills; the measured loss shows whether it did."""


@dataclass(frozen=True)
class System:
    """A link of `link_bps` and its source's sizes; times are in ms. `room` is K, None if the queue never fills."""

    link_bps: int
    mean_payload_bytes: int
    most_payload_bytes: int
    header_bytes: int
    exponential: bool
    room: int | None

    @cached_property
    def service(self) -> Service:
        """The distribution of a frame's transmission time, for the sizes that are sent."""
        per_byte = 8e3 / self.link_bps
        if not self.exponential:
            return constant((self.mean_payload_bytes + self.header_bytes) * per_byte)
        sizes = cut_exponential(
            self.mean_payload_bytes, MIN_PAYLOAD_BYTES, self.most_payload_bytes, overhead=self.header_bytes
        )
        return Service(sizes.times * per_byte, sizes.weights)

    @property
    def name(self) -> str:
        """Kendall's notation of the queue: M/D/1, M/G/1, with /K if its room is limited."""
        return self._named("G" if self.exponential else "D")

    @property
    def ideal_name(self) -> str:
        """Kendall's notation of the ideal of exponential sizes."""
        return self._named("M")

    def means(self, load: float) -> Means:
        """The means for the sizes that are sent; without a limit the load must be below 1."""
        return mg1(load, self.service) if self.room is None else mg1k(load, self.service, self.room)

    def ideal(self, load: float) -> Means | None:
        """The means for exponential sizes of the same mean; None if sizes are constant."""
        if not self.exponential:
            return None
        return mm1(load, self.service.mean) if self.room is None else mm1k(load, self.service.mean, self.room)

    def _named(self, service: str) -> str:
        return f"M/{service}/1" + ("" if self.room is None else f"/{self.room}")


def system_of(lab: Lab) -> tuple[System, float]:
    """The queue of a run's lab and its load. Raises StoreError unless the lab is one Poisson source and one link."""
    flows, links = lab.flows, lab.links
    if len(flows) != 1 or not kind_of(flows[0].tool).poisson_arrivals or len(links) != 1:
        raise StoreError("the view queueing-theory is about one flow of the tool poisson over one link")
    flow = flows[0]
    if flow.own["packet_size_distribution"] not in ("constant", "exponential"):
        raise StoreError("the view queueing-theory knows constant and exponential sizes of packets")
    (end,) = (end for end in links[0].ends if end.node == flow.from_)
    if end.opportunities or not end.wire.rate_bps:
        raise StoreError("the view queueing-theory is about a link with a rate, not with a trace of opportunities")
    system = System(
        link_bps=end.wire.rate_bps,
        mean_payload_bytes=flow.number("packet_size_bytes"),
        most_payload_bytes=flow.number("packet_size_most_bytes"),
        header_bytes=HEADER_BYTES[flow.family],
        exponential=flow.own["packet_size_distribution"] == "exponential",
        room=_room(Qdisc.of(end.queue)),
    )
    load = flow.number("rate_bps") / end.wire.rate_bps
    if system.room is None and load >= 1:
        raise StoreError(f"at a load of {load:g} a queue without limit has no steady state; lower the flow's rate")
    return system, load


def _room(queue: Qdisc | None) -> int | None:
    """K of a pfifo: its limit plus the packet on the link, which has left the queue. None if it never fills."""
    limit = queue.option("limit") if queue and queue.kind == "pfifo" else None
    if limit and limit.isdecimal():
        return None if int(limit) >= ENDLESS_PKTS else int(limit) + 1
    raise StoreError("the view queueing-theory is about a queue in the order of arrival: pfifo limit N")
