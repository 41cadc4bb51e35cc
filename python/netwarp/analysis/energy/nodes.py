"""Nodes: switches by the packets they send, hosts by those that pass their stack, radios by their times."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from netwarp.analysis.energy.consumption import Consumption, Packets, steady
from netwarp.energy.model import Host, NodeModel, Radio, Switch
from netwarp.stats.weighting import Times, Values


def node_consumption(
    model: NodeModel, packets: Packets, links: int, acks: NDArray[np.bool_], start_ns: int = 0
) -> Consumption:
    """The consumption of a node with this many links whose ports have no model themselves, by all packets that it sends
    and receives; `acks` says which of them are acknowledgements of TCP without data. A radio is idle, and a host
    asleep, before its first packet."""
    if isinstance(model, Switch):
        return steady(model.idle_w + model.port_w * links, packets, _switched_j(model, packets))
    if isinstance(model, Host):
        return _host(model, packets, acks, start_ns)
    return _radio(model, packets, start_ns)


def _switched_j(model: Switch, packets: Packets) -> Values:
    each = model.packet_nj * packets.segments + model.byte_nj * packets.frame_bytes
    joules: Values = np.where(packets.sent, each, 0.0) / 1e9
    return joules


def _host(model: Host, packets: Packets, acks: NDArray[np.bool_], start_ns: int) -> Consumption:
    awake_ns = round(model.awake_ms * 1e6)
    each = np.where(acks, model.ack_uj, np.where(packets.sent, model.sent_packet_uj, model.received_packet_uj))
    wakes = _after_silence(packets.times_ns, awake_ns)
    joules: Values = (each + model.wakeup_uj * wakes) / 1e6 + model.byte_nj * packets.frame_bytes / 1e9
    # Awake from each packet that wakes it until its timeout after the last packet before the next of these.
    woken = packets.times_ns[wakes]
    rest = packets.times_ns[np.append(np.flatnonzero(wakes)[1:] - 1, -1)] + awake_ns if len(woken) else woken
    from_ns = np.concatenate([[_before(start_ns, packets)], np.stack([woken, rest], axis=1).reshape(-1)])
    asleep = np.arange(len(from_ns)) % 2 == 0
    return Consumption(from_ns, np.full(len(from_ns), model.idle_w, np.float64), packets, joules, asleep, woken)


def _after_silence(times_ns: Times, silence_ns: int) -> NDArray[np.bool_]:
    """The times that follow their predecessor after more than `silence_ns`, as a mask; the first one counts."""
    found = np.ones(len(times_ns), bool)
    found[1:] = np.diff(times_ns) > silence_ns
    return found


def _before(start_ns: int, packets: Packets) -> int:
    """An instant before the start and before all packets."""
    return min(start_ns, int(packets.times_ns[0]) if len(packets) else start_ns) - 1


def _radio(model: Radio, packets: Packets, start_ns: int) -> Consumption:
    mbit = packets.frame_bytes.astype(np.float64) * 8e-6
    each = np.where(packets.sent, model.uplink_mj_per_mbit, model.downlink_mj_per_mbit)
    steps = [(_before(start_ns, packets), model.idle.mean_w, True), *_radio_states(model, packets.times_ns)]
    from_ns = np.array([at for at, _, _ in steps], np.int64)
    asleep = np.array([sleeps for _, _, sleeps in steps])
    wakes = from_ns[1:][asleep[:-1] & ~asleep[1:]]
    watts = np.array([watts for _, watts, _ in steps])
    return Consumption(from_ns, watts, packets, mbit * each / 1e3, asleep, wakes)


def _radio_states(model: Radio, times_ns: Times) -> Iterator[tuple[int, float, bool]]:
    """The states of a radio after its first packet: since when, the power, and whether it is idle."""
    promotion_ns, active_w = round(model.promotion_ms * 1e6), model.active_mw / 1e3
    states = list(_after_last(model))
    first_ns, idle_ns = states[0][0], states[-1][0]
    # When the last packet was sent, which is not before the promotion's end; none at first.
    last_ns: int | None = None
    for at_ns in times_ns.tolist():
        if last_ns is None or at_ns - last_ns >= idle_ns:
            if last_ns is not None:
                yield from ((last_ns + after, watts, idle) for after, watts, idle in states)
            last_ns = at_ns + promotion_ns
            yield at_ns, model.promotion_mw / 1e3, False
            yield last_ns, active_w, False
        elif at_ns > last_ns:
            if at_ns - last_ns > first_ns:
                reached = at_ns - last_ns
                yield from ((last_ns + after, watts, idle) for after, watts, idle in states if after < reached)
                yield at_ns, active_w, False
            last_ns = at_ns
    if last_ns is not None:
        yield from ((last_ns + after, watts, idle) for after, watts, idle in states)


def _after_last(model: Radio) -> Iterator[tuple[int, float, bool]]:
    """The states after the last packet: how long after it each begins, its power, and whether it is idle."""
    after_ms = model.inactivity_ms
    for tail in model.tails:
        yield round(after_ms * 1e6), tail.mean_w, False
        after_ms += tail.duration_ms
    yield round(after_ms * 1e6), model.idle.mean_w, True
