"""Links of the lab: interfaces, shaping and queue in tc's words, wires, and what changes in them during the run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from netwarp.lab.draws import seed_for
from netwarp.lab.model import (
    FIRST_INDEX,
    FRAME_HEADER_BYTES,
    WIRE_OFFSET,
    LabChange,
    LabEnd,
    LabLink,
    LabWire,
)
from netwarp.lab.network import NS_PER_S, Hop, Network
from netwarp.lab.sizes import Sizes
from netwarp.scenario.model import Change, Link
from netwarp.scenario.netem import Jitter, LossModel, RandomLoss

WAYS = ("forward", "back")
MIN_FRAME_BITS = 64 * 8
QUEUE_HANDLE = 10


@dataclass(frozen=True)
class State:
    """What one direction of a link is like at one moment."""

    rate_bps: int
    delay_ns: int
    jitter: Jitter
    loss: LossModel
    queue: str
    handle: int = QUEUE_HANDLE

    @property
    def in_flight_pkts(self) -> int:
        """The most packets the wire can hold: its rate for its longest delay, in the smallest frames."""
        longest_ns = self.delay_ns + 4 * self.jitter.ns
        return self.rate_bps * longest_ns // (MIN_FRAME_BITS * NS_PER_S) + 1000


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
    states = _states(network, sizes, hop)
    limit = max(state.in_flight_pkts for _, state in states)
    wire_seed = seed_for(seed, name, WAYS[hop.direction])
    wires = [_wire(link, hop.direction, state, limit, wire_seed) for _, state in states]
    first = states[0][1]
    raw = link.raw.get(node)
    end: LabEnd = {
        "node": node,
        "interface": device,
        "index": index,
        "wire_index": index + WIRE_OFFSET,
        "mac": _mac(index),
        "addresses": [str(pair[hop.direction]) for pair in network.addresses[hop.link].values()],
        "tc": _shaping(device, first, link.mtu) if raw is None else [line.replace("{dev}", device) for line in raw],
        "wire": wires[0],
    }
    later: list[LabChange] = []
    for (_, before), (at_ns, after), wire_before, wire in zip(states, states[1:], wires, wires[1:], strict=False):
        lines = _change_lines(device, before, after, link.mtu)
        if lines or wire != wire_before:
            later.append(
                {
                    "at_ns": at_ns,
                    "link": name,
                    "node": node,
                    "interface": device,
                    "index": index,
                    "tc": lines,
                    "wire": wire if wire != wire_before else None,
                }
            )
    return end, later


def _states(network: Network, sizes: Sizes, hop: Hop) -> list[tuple[int, State]]:
    """The state at the start and after each change of this direction, in the order of time."""
    link = network.links[hop.link]
    way = hop.direction
    first = State(link.rate.of(way), link.delay.of(way), link.jitter.of(way), link.loss.of(way), sizes.queue(hop))
    states = [(0, first)]
    for change in sorted(network.scenario.changes, key=lambda change: change.at):
        if change.link == network.names[hop.link]:
            states.append((change.at, _changed(states[-1][1], change, way)))
    return states


def _changed(state: State, change: Change, way: int) -> State:
    rate = change.rate.of(way) if change.rate else None
    delay = change.delay.of(way) if change.delay else None
    jitter = change.jitter.of(way) if change.jitter else None
    loss = change.loss.of(way) if change.loss else None
    queue = change.queue.of(way) if change.queue else None
    new = replace(
        state,
        rate_bps=state.rate_bps if rate is None else rate,
        delay_ns=state.delay_ns if delay is None else delay,
        jitter=jitter or state.jitter,
        loss=loss or state.loss,
        queue=queue or state.queue,
    )
    same_kind = new.queue.split()[0] == state.queue.split()[0]
    return new if same_kind else replace(new, handle=state.handle + 1)


def _shaping(device: str, state: State, mtu: int) -> list[str]:
    """The rate as an htb that spaces packets exactly (burst 1), and the queue beneath it."""
    return [
        f"qdisc add dev {device} root handle 1: htb default 1",
        f"class add dev {device} parent 1: classid 1:1 {_htb(state, mtu)}",
        f"qdisc add dev {device} parent 1:1 handle {state.handle}: {state.queue}",
    ]


def _htb(state: State, mtu: int) -> str:
    rate = f"{state.rate_bps}bit"
    return f"htb rate {rate} ceil {rate} burst 1 cburst 1 quantum {mtu + FRAME_HEADER_BYTES}"


def _change_lines(device: str, before: State, after: State, mtu: int) -> list[str]:
    """tc lines from one state to the next. A queue of the same kind is changed in place, another kind replaces it:
    under a handle of its own, for the kernel refuses to change the kind of a qdisc."""
    lines = []
    if after.rate_bps != before.rate_bps:
        lines.append(f"class change dev {device} parent 1: classid 1:1 {_htb(after, mtu)}")
    if after.queue != before.queue:
        verb = "change" if after.handle == before.handle else "replace"
        lines.append(f"qdisc {verb} dev {device} parent 1:1 handle {after.handle}: {after.queue}")
    return lines


def _wire(link: Link, way: int, state: State, limit: int, seed: int) -> LabWire:
    distribution = state.jitter.distribution if state.jitter.ns and state.jitter.distribution != "uniform" else None
    return {
        "rate_bps": state.rate_bps,
        "delay_ns": state.delay_ns,
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
