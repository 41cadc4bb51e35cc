"""Links of the lab: interfaces, shaping and queue in tc's words, wires, and what changes in them during the run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from netwarp.lab.draws import seed_for
from netwarp.lab.model import (
    FIRST_INDEX,
    FRAME_HEADER_BYTES,
    WIRE_OFFSET,
    LabChange,
    LabEnd,
    LabLink,
    LabOpportunities,
    LabWire,
)
from netwarp.lab.network import NS_PER_S, Hop, Network
from netwarp.lab.sizes import Sizes
from netwarp.scenario.model import Link
from netwarp.scenario.netem import LossModel, RandomLoss
from netwarp.scenario.opportunities import BYTES, NS_PER_MS, OVERHEAD_BYTES, Opportunities
from netwarp.scenario.qdiscs import kind
from netwarp.scenario.timeline import State

Timeline = Sequence[tuple[int, State]]

WAYS = ("forward", "back")
MIN_FRAME_BITS = 64 * 8
QUEUE_HANDLE = 10
MAX_LIMIT_PKTS = 2**31 - 1
AFTER_NS = 60 * NS_PER_S
"""For how long after a run's end opportunities are named: programs that report take up to half a minute."""


def _most_in_flight_pkts(states: Sequence[State], opportunities: Opportunities | None) -> int:
    """The most packets the wire can hold: what it takes at most in its longest delay, in the smallest frames."""
    longest_ns = max(state.delay + 4 * state.jitter.ns for state in states)
    if opportunities is not None:
        most_bits = opportunities.most_within(longest_ns // NS_PER_MS + 1) * BYTES * 8
        return min(most_bits // (MIN_FRAME_BITS + 8 * OVERHEAD_BYTES) + 1000, MAX_LIMIT_PKTS)
    return max(state.rate or 0 for state in states) * longest_ns // (MIN_FRAME_BITS * NS_PER_S) + 1000


def build_links(network: Network, sizes: Sizes, seed: int) -> tuple[list[LabLink], list[LabChange]]:
    """All links in file order, and all changes in the order of time."""
    links: list[LabLink] = []
    changes: list[LabChange] = []
    for number, (name, link) in enumerate(network.scenario.links.items()):
        ends: list[LabEnd] = []
        for direction in (0, 1):
            end, later = _build_end(network, sizes, Hop(number, direction), seed)
            ends.append(end)
            changes += later
        links.append({"name": name, "mtu": link.mtu, "offload": link.offload, "ends": ends})
    return links, sorted(changes, key=lambda change: change["at_ns"])


def _build_end(network: Network, sizes: Sizes, hop: Hop, seed: int) -> tuple[LabEnd, list[LabChange]]:
    link, name = network.links[hop.link], network.names[hop.link]
    device = network.interfaces[hop.link][hop.direction]
    index = FIRST_INDEX + 2 * hop.link + hop.direction
    node = link.ends[hop.direction]
    timeline = network.timeline(hop)
    opportunities = network.opportunities(hop)
    limit = _most_in_flight_pkts([state for _, state in timeline], opportunities)
    wire_seed = seed_for(seed, name, WAYS[hop.direction])
    wires = [_wire(link, hop.direction, state, limit, wire_seed) for _, state in timeline]
    queues = _queues(timeline, sizes.default_queue(hop))
    raw = link.raw.get(node)
    shaping = _shaping(device, timeline[0][1].rate, queues[0], link.mtu)
    end: LabEnd = {
        "node": node,
        "interface": device,
        "index": index,
        "wire_index": index + WIRE_OFFSET,
        "mac": _mac(index),
        "addresses": [str(pair[hop.direction]) for pair in network.addresses[hop.link].values()],
        "opportunities": _opportunities(opportunities, network.scenario.duration) if opportunities else None,
        "tc": shaping if raw is None else [line.replace("{dev}", device) for line in raw],
        "wire": wires[0],
    }
    later: list[LabChange] = []
    for number, (at_ns, state) in enumerate(timeline[1:], start=1):
        later.append(
            {
                "at_ns": at_ns,
                "link": name,
                "node": node,
                "interface": device,
                "index": index,
                "rate_bps": state.rate if state.rate != timeline[number - 1][1].rate else None,
                "tc": _queue_lines(device, queues[number - 1], queues[number]),
                "wire": wires[number] if wires[number] != wires[number - 1] else None,
            }
        )
    return end, later


def _queues(timeline: Timeline, default: str) -> list[tuple[int, str]]:
    """The handle and the queue in each state; a queue of another kind than the one before has a handle of its own."""
    found: list[tuple[int, str]] = []
    for _, state in timeline:
        queue = state.queue or default
        handle = found[-1][0] if found else QUEUE_HANDLE
        found.append((handle + 1 if found and kind(found[-1][1]) != kind(queue) else handle, queue))
    return found


def _shaping(device: str, rate_bps: int | None, queue: tuple[int, str], mtu: int) -> list[str]:
    """The rate as an htb that spaces packets exactly (burst 1), and the queue beneath it.

    Of opportunities the queue alone: tc has no words for their discipline, which the agent sets up.
    """
    beneath = f"qdisc add dev {device} parent 1:1 handle {queue[0]}: {queue[1]}"
    if rate_bps is None:
        return [beneath]
    return [
        f"qdisc add dev {device} root handle 1: htb default 1",
        f"class add dev {device} {htb_class(rate_bps, mtu)}",
        beneath,
    ]


def _opportunities(trace: Opportunities, duration_ns: int) -> LabOpportunities:
    at_ms, counts = trace.until((duration_ns + AFTER_NS) // NS_PER_MS)
    return {
        "bytes": BYTES,
        "overhead_bytes": OVERHEAD_BYTES,
        "period_ms": trace.period_ms,
        "mean_rate_bps": trace.mean_rate_bps,
        "trace": " ".join(f"{at}x{count}" if count > 1 else f"{at}" for at, count in zip(at_ms, counts, strict=True)),
    }


def htb_class(rate_bps: int, mtu: int) -> str:
    """The class that is a link's rate, in tc's words."""
    rate = f"{rate_bps}bit"
    shape = f"htb rate {rate} ceil {rate} burst 1 cburst 1 quantum {mtu + FRAME_HEADER_BYTES}"
    return f"parent 1: classid 1:1 {shape}"


def _queue_lines(device: str, before: tuple[int, str], after: tuple[int, str]) -> list[str]:
    """tc lines from one queue to the next. One of the same kind is changed in place, another kind replaces it: under a
    handle of its own, for the kernel refuses to change the kind of a qdisc."""
    if after == before:
        return []
    verb = "change" if after[0] == before[0] else "replace"
    return [f"qdisc {verb} dev {device} parent 1:1 handle {after[0]}: {after[1]}"]


def _wire(link: Link, way: int, state: State, limit: int, seed: int) -> LabWire:
    distribution = state.jitter.distribution if state.jitter.ns and state.jitter.distribution != "uniform" else None
    return {
        "rate_bps": state.rate,
        "delay_ns": state.delay,
        "jitter_ns": state.jitter.ns,
        "jitter_correlation": state.jitter.correlation,
        "distribution": distribution,
        "loss": _loss(state.loss),
        "duplicate": link.duplicate.of(way),
        "corrupt": link.corrupt.of(way),
        "reorder": link.reorder.of(way),
        "limit_pkts": limit,
        "seed": seed,
    }


def _loss(loss: LossModel) -> dict[str, Any] | None:
    return None if isinstance(loss, RandomLoss) and loss.p == 0 else loss.model_dump()


def _mac(index: int) -> str:
    """A locally administered address that tells the interface: 02, "nw", and its index."""
    return "02:6e:77:" + ":".join(f"{byte:02x}" for byte in index.to_bytes(3, "big"))
