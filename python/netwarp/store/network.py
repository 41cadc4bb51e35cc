"""The network of a run for its readers: nodes, links, and each direction of a link."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isnan

from netwarp.lab_format.links import LabEnd, LabLink
from netwarp.lab_format.model import Lab, LabChange
from netwarp.lab_format.wires import PROPERTIES, LabWire
from netwarp.store.opportunities import opportunities_of
from netwarp.values.qdisc import Qdisc


@dataclass(frozen=True)
class StepSeries:
    """A property of a direction over time: (from ns, value in `unit`); the first step begins at the start."""

    name: str
    unit: str
    steps: tuple[tuple[int, float], ...]


@dataclass(frozen=True)
class LinkDirection:
    """One direction of a link, from the sending node to the other; times in ns, the rate in bit/s.

    If the link has a trace of delivery opportunities (`traced`), the rate is their average.

    `queue` is in tc's syntax, None if the scenario gave tc commands instead (`raw`). `impairments` describes the
    wire's other effects: loss, duplication, corruption, reordering. `series` has the rate, delay or loss if they change
    during the run.
    """

    source: str
    target: str
    interface: str
    rate_bps: int
    delay_ns: int
    jitter_ns: int
    queue: str | None
    impairments: tuple[str, ...]
    series: tuple[StepSeries, ...]
    traced: bool = False
    raw: tuple[str, ...] = ()


@dataclass(frozen=True)
class Link:
    """A link: its name, two directions (the first from the end that the scenario names first), MTU in bytes."""

    name: str
    directions: tuple[LinkDirection, LinkDirection]
    mtu: int


@dataclass(frozen=True)
class Network:
    """Names of nodes in the scenario's order, the forwarding nodes, and the links."""

    nodes: tuple[str, ...]
    forwarding: frozenset[str]
    links: tuple[Link, ...]


def network_of(lab: Lab) -> Network:
    """The network of a lab."""
    links = tuple(_link(link, lab.changes) for link in lab.links)
    ends = [direction.source for link in links for direction in link.directions]
    return Network(
        nodes=tuple(dict.fromkeys([*(node.name for node in lab.nodes), *ends])),
        forwarding=frozenset(node.name for node in lab.nodes if node.forward),
        links=links,
    )


def _link(link: LabLink, changes: Sequence[LabChange]) -> Link:
    one, other = link.ends
    return Link(link.name, (_direction(one, other, changes), _direction(other, one, changes)), link.mtu)


def _direction(end: LabEnd, peer: LabEnd, changes: Sequence[LabChange]) -> LinkDirection:
    opportunities = opportunities_of(end)
    return LinkDirection(
        source=end.node,
        target=peer.node,
        interface=end.interface,
        rate_bps=opportunities.mean_rate_bps if opportunities else end.wire.rate_bps or 0,
        delay_ns=end.wire.delay_ns,
        jitter_ns=end.wire.jitter_ns,
        queue=str(qdisc) if (qdisc := Qdisc.of(end.queue)) else None,
        impairments=tuple(words for found in PROPERTIES if (words := found.described(end.wire))),
        series=tuple(_step_series(end.wire, [change for change in changes if change.index == end.index])),
        traced=opportunities is not None,
        raw=end.raw or (),
    )


def _step_series(wire: LabWire, changes: Sequence[LabChange]) -> Iterator[StepSeries]:
    """The properties of a wire that change."""
    wires = [(0, wire), *((change.at_ns, change.wire) for change in changes if change.wire)]
    rates = [(at_ns, (then.rate_bps or 0) * 1e-6) for at_ns, then in wires]
    yield from _series_of("rate", "Mbit/s", rates)
    for found in PROPERTIES:
        if found.drawn_over_time:
            yield from _series_of(found.name, found.unit, [(at_ns, found.amount(then)) for at_ns, then in wires])


def _series_of(name: str, unit: str, steps: list[tuple[int, float]]) -> Iterator[StepSeries]:
    kept = [step for number, step in enumerate(steps) if number == 0 or step[1] != steps[number - 1][1]]
    if len(kept) > 1 and not any(isnan(value) for _, value in kept):
        yield StepSeries(name, unit, tuple(kept))
