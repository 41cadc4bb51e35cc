"""An estimate of the disk that runs need: rows of each kind of table, by the bytes of a row that were measured.

A flow sends the load that its kind offers, or else the capacity of the slowest link of its path. If the flows that
react to congestion ask for more than a link carries, each gets the same share of its demand. A packet is a row at each
queue that it passes. Every second data packet of TCP is acknowledged (delayed ACKs, RFC 1122, 4.2.3.2).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

from netwarp.flows import kind_of
from netwarp.lab.build import SAMPLE_NS
from netwarp.lab.network import ACK_FRAME_BYTES, Hop, NetworkGraph, Path
from netwarp.lab.sizes import Sizes
from netwarp.plan import Plan
from netwarp.scenario.model import Scenario
from netwarp.values.constants import NS_PER_S
from netwarp.values.keep import EVERYTHING, Keep

PACKET_BYTES, ACK_BYTES, ARRIVAL_BYTES, DATAGRAM_BYTES = 9, 14, 5, 8
"""Bytes of a row on the disk, compressed, measured in the shipped scenarios: `packets`, `acks`, `arrivals`,
`datagrams`."""
QUIC_ACK_BYTES, QUIC_ARRIVAL_BYTES = 12, 4
"""The same of `quic_acks`, `quic_arrivals`."""
SAMPLE_BYTES = 9
"""Bytes of a row of `queues`, `queue_states`, `links` or `pings`."""
_STATE_ROWS = 20
"""Rows of an end in `queue_states` at each sample: 12 with RED, 18 with fq_pie, 85 with the four tins of a CAKE."""
SOCKET_BYTES = 28
"""Bytes of a row of `sockets`."""
_TABLES_BYTES, _DOCUMENTS_BYTES = 60_000, 25_000
"""Bytes of the schemas and first rows of a run's tables, and of its other files: run.json, metrics."""
_MOST_OPEN = 8
"""Connections of one flow that are open at an instant, on average, at most."""
_PCAP_RECORD_BYTES = 16
_MOST_POINTS = 50
"""The most points that are estimated. Of more, this many are taken at even intervals, and represent all."""


@dataclass(frozen=True)
class DiskUse:
    """Estimated bytes: of exact tables, of other tables, and of what every run keeps, captures and documents."""

    exact: float = 0.0
    others: float = 0.0
    captured: float = 0.0
    documents: float = 0.0

    def kept(self, keep: Keep) -> float:
        """The bytes that remain."""
        always = self.captured + self.documents
        return always + (self.others if keep != "summary" else 0) + (self.exact if keep == EVERYTHING else 0)

    @property
    def whole(self) -> float:
        """The bytes while a run is made, when all of its tables are there."""
        return self.exact + self.others + self.captured + self.documents


@dataclass(frozen=True)
class PlanUse:
    """Estimated bytes of a plan.

    `kept`: the size that remains of all runs; `captured`: that of their captures; `by_keep`: the whole with each choice
    of `keep`. `largest`: the largest run while it is made, with all of its tables.
    """

    kept: float
    captured: float
    by_keep: Mapping[Keep, float]
    largest: float


def estimate_plan(plan: Plan, *, exact: bool = True) -> PlanUse | None:
    """Estimate the disk that a plan's runs need; None if it cannot be known, as of commands.

    `exact`: whether the engine makes exact records.
    """
    points = list({(run.case, repr(run.point)): run for run in plan}.values())
    step = max(len(points) / _MOST_POINTS, 1.0)
    chosen = [points[int(at * step)] for at in range(min(len(points), _MOST_POINTS))]
    known = [(run, use) for run in chosen if (use := estimate_run(run.scenario, exact=exact))]
    if not known or len(known) < len(chosen):
        return None
    scale = len(plan) / len(known)
    return PlanUse(
        kept=scale * sum(use.kept(run.scenario.record.keep) for run, use in known),
        captured=scale * sum(use.captured for _, use in known),
        by_keep={keep: scale * sum(use.kept(keep) for _, use in known) for keep in get_args(Keep)},
        largest=max(use.whole for _, use in known),
    )


def estimate_run(scenario: Scenario, *, exact: bool = True) -> DiskUse | None:
    """Estimate the disk that a run of a resolved scenario needs; None if it cannot be known, as of commands."""
    if scenario.command is not None or not scenario.links:
        return None
    sizes = Sizes(scenario, NetworkGraph(scenario))
    streams = [stream for name, flow in scenario.flows.items() if flow.count for stream in _streams(name, sizes)]
    carried = list(_carried(streams, sizes))
    exact = exact and scenario.record.exact
    return DiskUse(
        exact=sum(_exact_bytes(stream, frames, exact=exact) for stream, frames in carried),
        others=_TABLES_BYTES + _sampled_bytes(sizes, exact=exact),
        captured=_captured_bytes(carried, sizes),
        documents=_DOCUMENTS_BYTES,
    )


@dataclass(frozen=True)
class _Stream:
    """The flows of one name: the data that they ask the network to carry, and the hops of data and of answers.

    `answers`: how many ACKs or replies a frame of data has. `yields`: whether they slow down when the network is full.
    """

    name: str
    asked_bytes: float
    frame_bytes: float
    answers: float
    answer_bytes: float
    data: Sequence[Hop]
    back: Sequence[Hop]
    yields: bool
    is_tcp: bool
    quic_acks: bool
    quic_arrivals: bool
    lists_datagrams: bool


def _streams(name: str, sizes: Sizes) -> Iterator[_Stream]:
    """The streams of the flows of a name: one on each of their paths."""
    ways = sizes.ways(name)
    for way in ways:
        yield _stream(name, sizes, way, 1 / len(ways))


def _stream(name: str, sizes: Sizes, ways: Path, share: float) -> _Stream:
    """The stream on one path, which has this share of what its flows offer."""
    flow = sizes.scenario.flows[name]
    kind, path = kind_of(flow.tool), sizes.flow_path(name)
    own = flow.own_fields(path)
    data, back = (ways.reverse, ways.forward) if kind.is_reverse(own) else (ways.forward, ways.reverse)
    active_ns = flow.active_ns(sizes.scenario.duration)
    most = min(_carried_bytes(sizes, hop, active_ns) for hop in data)
    offered = flow.offered_bytes(path, active_ns)
    transport = kind.transport_of(own)
    is_tcp = transport in (None, "tcp", "sctp")
    acknowledges = is_tcp or kind.quic or kind.pages or kind.video
    frame_bytes = flow.frame_bytes(path)
    return _Stream(
        name,
        flow.count * (most if offered is None else share * offered),
        frame_bytes,
        0.5 if acknowledges else float(transport == "icmp"),
        ACK_FRAME_BYTES if acknowledges else frame_bytes,
        data,
        back,
        offered is None or acknowledges,
        is_tcp,
        kind.quic or (transport == "udp" and (kind.pages or kind.video)),
        kind.quic and not kind.datagrams,
        kind.datagrams,
    )


def _carried(streams: Sequence[_Stream], sizes: Sizes) -> Iterator[tuple[_Stream, float]]:
    """Each stream with the frames of data that the network carries of it."""
    asked: dict[Hop, float] = defaultdict(float)
    for stream in streams:
        for hop in stream.data:
            asked[hop] += stream.asked_bytes
    duration_ns = sizes.scenario.duration
    share = {hop: min(_carried_bytes(sizes, hop, duration_ns) / most, 1.0) for hop, most in asked.items() if most}
    for stream in streams:
        part = min(share.get(hop, 1.0) for hop in stream.data) if stream.yields else 1.0
        yield stream, part * stream.asked_bytes / stream.frame_bytes


def _carried_bytes(sizes: Sizes, hop: Hop, time_ns: int) -> float:
    """The capacity of a link's direction in a time, by its mean rate during the run."""
    network, duration_ns = sizes.network, sizes.scenario.duration
    if (opportunities := network.opportunities(hop)) is not None:
        return opportunities.mean_rate_bps * time_ns / (8 * NS_PER_S)
    states = network.timeline(hop)
    ends = [at_ns for at_ns, _ in states[1:]] + [duration_ns]
    bits = sum(
        (state.rate or 0) * max(min(end, duration_ns) - at_ns, 0) / NS_PER_S
        for (at_ns, state), end in zip(states, ends, strict=True)
    )
    return bits / 8 * time_ns / duration_ns


def _exact_bytes(stream: _Stream, frames: float, *, exact: bool) -> float:
    """The tables with a row for each packet, ACK or datagram; the agent's are there without exact records, too."""
    answers = stream.answers * frames
    own = DATAGRAM_BYTES * frames if stream.lists_datagrams else 0.0
    own += QUIC_ACK_BYTES * answers if stream.quic_acks else 0.0
    own += QUIC_ARRIVAL_BYTES * frames if stream.quic_arrivals else 0.0
    if not exact:
        return own
    packets = frames * len(stream.data) + answers * len(stream.back)
    arrivals = frames + (answers if stream.quic_acks else 0.0)
    return PACKET_BYTES * packets + ACK_BYTES * (answers if stream.is_tcp else 0.0) + ARRIVAL_BYTES * arrivals + own


def _sampled_bytes(sizes: Sizes, *, exact: bool) -> float:
    """The tables of samples, of which each end of a TCP connection has a row; and pings."""
    scenario = sizes.scenario
    sample_ns = scenario.record.sample_ns if exact or scenario.record.sample else SAMPLE_NS
    sockets = pings = 0.0
    rows = 6.0 * len(scenario.links)  # of an interface two in `queues`, and one in `links`
    rows += _STATE_ROWS * len(scenario.record.queue_states)
    for name, flow in scenario.flows.items():
        kind, path = kind_of(flow.tool), sizes.flow_path(name)
        own = flow.own_fields(path)
        if kind.transport_of(own) == "tcp":
            sockets += 2.0 * flow.count * min(kind.connections_of(own), _MOST_OPEN)
        elif kind.probe and (offered := flow.offered_bytes(path, scenario.duration)):
            pings += flow.count * offered / flow.frame_bytes(path)
    samples = scenario.duration / sample_ns
    return samples * (SAMPLE_BYTES * rows + SOCKET_BYTES * sockets) + SAMPLE_BYTES * pings


def _captured_bytes(carried: Sequence[tuple[_Stream, float]], sizes: Sizes) -> float:
    """The captures: each packet of both directions of a link, up to the length that is kept."""
    total = 0.0
    for capture in sizes.scenario.record.captures:
        link = sizes.network.names.index(capture.at.partition(":")[0])
        most = capture.snap or math.inf
        for stream, frames in carried:
            there = sum(hop.link == link for hop in stream.data)
            back = sum(hop.link == link for hop in stream.back)
            total += there * frames * (_PCAP_RECORD_BYTES + min(most, stream.frame_bytes))
            total += back * stream.answers * frames * (_PCAP_RECORD_BYTES + min(most, stream.answer_bytes))
    return total
