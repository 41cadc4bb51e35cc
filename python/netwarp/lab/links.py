"""Builds the links of the lab: interfaces, shapers, queues, wires, and their changes during the run."""

from __future__ import annotations

from collections.abc import Sequence

from netwarp.lab.draws import seed_for
from netwarp.lab.flows import condition_of
from netwarp.lab.network import Hop, NetworkGraph
from netwarp.lab.sizes import Sizes
from netwarp.lab.tc import CHILD, ROOT, change_queue, set_up
from netwarp.lab_format.links import LabEnd, LabLink, LabNewQueue, LabOpportunities, LabQueue, LabShaper
from netwarp.lab_format.model import LabChange, LabCondition
from netwarp.lab_format.wires import PROPERTIES, LabWire
from netwarp.scenario.model.opportunities import BYTES, OVERHEAD_BYTES, Opportunities
from netwarp.scenario.model.timeline import State, awaited_changes
from netwarp.scenario.model.wire import is_device
from netwarp.values.constants import ETHERNET_HEADER_BYTES, NS_PER_MS, NS_PER_S
from netwarp.values.qdisc import Qdisc
from netwarp.values.wire import bits_within, limit_pkts, longest_delay_ns

Timeline = Sequence[tuple[int, State]]

FIRST_INDEX = 11
WIRE_OFFSET = 100_000
_STREAMS = ("forward", "back")
"""The names of the random streams by direction. They are part of the seeds, so they must not change."""
QUEUE_HANDLE = 0x10
AFTER_NS = 60 * NS_PER_S
"""Opportunities are listed for this long after a run's end, because programs take up to half a minute to report."""


def _most_in_flight_pkts(states: Sequence[State], opportunities: Opportunities | None) -> int:
    """The most packets that the wire can hold: those sent during its longest delay, in the smallest frames."""
    longest_ns = max(longest_delay_ns(state.delay, state.jitter.ns) for state in states)
    if opportunities is not None:
        return limit_pkts(opportunities.most_within(longest_ns // NS_PER_MS + 1) * BYTES * 8, 8 * OVERHEAD_BYTES)
    return limit_pkts(bits_within(max(state.rate or 0 for state in states), longest_ns))


def build_links(
    network: NetworkGraph, sizes: Sizes, seed: int, *, burst_ns: int = 0, devices: bool = True
) -> tuple[tuple[LabLink, ...], tuple[LabChange, ...]]:
    """All links in file order, and all changes in the order of time; `burst_ns` is that of
    shapers, `devices` as in `build_lab`."""
    links: list[LabLink] = []
    changes: list[LabChange] = []
    for number, (name, link) in enumerate(network.scenario.links.items()):
        ends: list[LabEnd] = []
        device = is_device(network.scenario, name, devices=devices)
        for direction in (0, 1):
            end, later = _build_end(network, sizes, Hop(number, direction), seed, None if device else burst_ns)
            ends.append(end)
            changes += later
        links.append(
            LabLink(
                name=name,
                mtu=link.mtu,
                offload=link.offload,
                device=device,
                ring_pkts=link.ring,
                ends=tuple(ends),
            )
        )
    return tuple(links), tuple(sorted(changes, key=lambda change: change.at_ns))


def _build_end(
    network: NetworkGraph, sizes: Sizes, hop: Hop, seed: int, burst_ns: int | None
) -> tuple[LabEnd, list[LabChange]]:
    """One end and its changes. `burst_ns` is that of its shaper; None: it is a device, and has none."""
    link, name = network.links[hop.link], network.names[hop.link]
    device = network.interfaces[hop.link][hop.direction]
    index = FIRST_INDEX + 2 * hop.link + hop.direction
    node = link.ends[hop.direction]
    timeline = network.timeline(hop)
    opportunities = network.opportunities(hop)
    limit = _most_in_flight_pkts([state for _, state in timeline], opportunities)
    wire_seed = seed_for(seed, name, _STREAMS[hop.direction])
    wires = [_wire(state, limit, wire_seed) for _, state in timeline]
    queues = _queues([sizes.queue(hop, state) for _, state in timeline])
    raw = link.raw.get(node)
    if raw is not None:
        raw = tuple(line.replace("{dev}", device) for line in raw)
    rate_bps = timeline[0][1].rate
    place = ROOT if burst_ns is None else CHILD
    shaper = None
    if raw is None and rate_bps is not None and burst_ns is not None:
        shaper = _shaper(rate_bps, link.mtu, burst_ns)
    queue = queues[0] if raw is None else None
    end = LabEnd(
        node=node,
        interface=device,
        index=index,
        wire_index=index + WIRE_OFFSET,
        mac=_mac(index),
        addresses=tuple(str(pair[hop.direction]) for pair in network.addresses[hop.link].values()),
        shaper=shaper,
        opportunities=_opportunities(opportunities, network.scenario.duration) if opportunities else None,
        queue=queue,
        raw=raw,
        tc=set_up(device, shaper, queue, raw, place),
        queue_states=f"{name}:{node}" in network.scenario.record.queue_states,
        wire=wires[0],
    )
    later: list[LabChange] = []
    awaited = _conditions(network, hop)
    for number, (at_ns, state) in enumerate(timeline[1:], start=1):
        new_queue = _new_queue(queues[number - 1], queues[number])
        later.append(
            LabChange(
                at_ns=at_ns,
                link=name,
                node=node,
                interface=device,
                index=index,
                rate_bps=state.rate if state.rate != timeline[number - 1][1].rate else None,
                queue=new_queue,
                tc=change_queue(device, new_queue, place),
                wire=wires[number] if wires[number] != wires[number - 1] else None,
                when=awaited[number - 1] if awaited else None,
            )
        )
    return end, later


def _conditions(network: NetworkGraph, hop: Hop) -> tuple[LabCondition, ...]:
    """The conditions of the moments of a timeline after the first, if they wait for states; empty otherwise."""
    awaited = awaited_changes(network.scenario, network.names[hop.link], hop.direction)
    whens = ((index, network.scenario.changes[index].when) for index in awaited)
    return tuple(condition_of(network.scenario, index, when) for index, when in whens if when is not None)


def _queues(qdiscs: Sequence[Qdisc]) -> list[LabQueue]:
    """The queue in each state. A queue whose kind differs from its predecessor's has a new handle, because the kernel
    refuses to change the kind of a qdisc."""
    found: list[LabQueue] = []
    for qdisc in qdiscs:
        handle = found[-1].handle if found else QUEUE_HANDLE
        if found and found[-1].kind != qdisc.kind:
            handle += 1
        found.append(LabQueue(handle=handle, kind=qdisc.kind, options=qdisc.options))
    return found


def _new_queue(before: LabQueue, after: LabQueue) -> LabNewQueue | None:
    """The change from one queue to the next: in place if the kind is the same, else by replacement."""
    if after == before:
        return None
    in_place = after.handle == before.handle
    return LabNewQueue(handle=after.handle, kind=after.kind, options=after.options, in_place=in_place)


def _shaper(rate_bps: int, mtu: int, burst_ns: int) -> LabShaper:
    return LabShaper(rate_bps=rate_bps, quantum_bytes=mtu + ETHERNET_HEADER_BYTES, burst_ns=burst_ns)


def _opportunities(trace: Opportunities, duration_ns: int) -> LabOpportunities:
    at_ms, counts = trace.until((duration_ns + AFTER_NS) // NS_PER_MS)
    return LabOpportunities(
        bytes=BYTES,
        overhead_bytes=OVERHEAD_BYTES,
        period_ms=trace.period_ms,
        mean_rate_bps=trace.mean_rate_bps,
        trace=" ".join(f"{at}x{count}" if count > 1 else f"{at}" for at, count in zip(at_ms, counts, strict=True)),
    )


def _wire(state: State, limit: int, seed: int) -> LabWire:
    values = [found.lab_values(state.wire[found.name]) for found in PROPERTIES]
    found = {name: value for one in values for name, value in one.items()}
    return LabWire(rate_bps=state.rate, **found, limit_pkts=limit, seed=seed)


def _mac(index: int) -> str:
    """A locally administered address that identifies the interface: 02, "nw", and its index."""
    return "02:6e:77:" + ":".join(f"{byte:02x}" for byte in index.to_bytes(3, "big"))
