"""The discovered fields of a lab."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby

import polars as pl

from netwarp.discovery.devices import DUMMY, LOOPBACK, VETH, Device, find_devices
from netwarp.discovery.disciplines import LINE, Sending, sending_over_time
from netwarp.discovery.namespaces import distinct, namespace_names
from netwarp.discovery.traffic import find_flows
from netwarp.lab_format.found import FoundChange, FoundEnd, FoundInterface, FoundLink, FoundNetwork, FoundNode
from netwarp.store import rows
from netwarp.store.rundir import RunDir

_EVER = (-(2**62), 2**62)
_NO_RATE = Sending(_EVER[0])


def discover(run: RunDir, rate_bps: int | None) -> FoundNetwork | None:
    """Find the nodes, links, other interfaces, flows and changes of a command's network; None if none was recorded.

    `rate_bps` is the default rate of links. Raises StoreError.
    """
    names = namespace_names(rows.namespaces(run.scan("namespaces").collect()))
    devices = find_devices(rows.devices(run.scan("devices").collect()), names)
    if not devices:
        return None
    used = _used(run)
    links = [pair for pair in _pairs(devices) if not used or any(end.index in used for end in pair)]
    linked = {end.index for pair in links for end in pair}
    others = [device for device in devices.values() if device.index in used and device.index not in linked]
    sending = _sending(run, [*(end for pair in links for end in pair), *others], used, rate_bps)
    flows = find_flows(run, names, {index: device.node for index, device in devices.items()})
    shown = [_link(pair, name, sending) for pair, name in zip(links, _link_names(links), strict=True)]
    return FoundNetwork(
        nodes=tuple(_nodes(run, devices, {*linked, *used})),
        links=tuple(shown),
        interfaces=tuple(_interface(device, sending[device.index][0]) for device in others),
        flows=tuple(flows),
        changes=tuple(
            change for link in shown for end in link.ends for change in _changes(link.name, end, sending[end.index])
        ),
    )


def _used(run: RunDir) -> dict[int, tuple[int, int]]:
    """The times of the first and the last packet of each interface that sent, by its index."""
    packets = run.scan("packets").group_by("interface_index")
    frame = packets.agg(pl.min("enqueue_ns").alias("first"), pl.max("enqueue_ns").alias("last")).collect()
    return {int(index): (int(first), int(last)) for index, first, last in frame.iter_rows()}


def _pairs(devices: Mapping[int, Device]) -> list[tuple[Device, Device]]:
    """Both ends of every veth: the end in the older namespace comes first, a switch's end last."""
    ends = ((device, devices.get(device.peer or 0)) for device in devices.values() if device.kind == VETH)
    return [(one, other) for one, other in ends if other is not None and one.order < other.order]


def _link_names(links: Iterable[tuple[Device, Device]]) -> list[str]:
    names: list[str] = []
    for one, other in links:
        names.append(distinct(f"{one.node}-{other.node}", names))
    return names


def _sending(
    run: RunDir, devices: Iterable[Device], used: Mapping[int, tuple[int, int]], rate_bps: int | None
) -> dict[int, tuple[Sending, ...]]:
    told = rows.disciplines(run.scan("disciplines").collect().sort("interface_index", maintain_order=True))
    configured = {index: list(part) for index, part in groupby(told, key=lambda row: row["interface_index"])}
    line = Sending(_EVER[0], rate_bps, kinds=(LINE,)) if rate_bps else _NO_RATE
    return {
        device.index: sending_over_time(
            configured.get(device.index, ()),
            line if device.kind in {VETH, LOOPBACK, DUMMY} else _NO_RATE,
            *used.get(device.index, _EVER),
        )
        for device in devices
    }


def _nodes(run: RunDir, devices: Mapping[int, Device], indices: Iterable[int]) -> list[FoundNode]:
    """Nodes with an interface in use; switches, and nodes that were seen to forward, are marked as forwarding."""
    counted = run.scan("interfaces").filter(pl.col("forwarded_pkts") > 0).select("interface_index").collect()
    forwarding = {devices[index].node for (index,) in counted.iter_rows() if index in devices}
    switches = {device.node for device in devices.values() if device.is_switch}
    seen = sorted((devices[index] for index in indices), key=lambda device: device.order)
    # A bridge floods and a tunnel encapsulates: incoming packets differ from outgoing ones.
    odd = {device.node for device in seen if device.is_port or device.kind not in {VETH, LOOPBACK}}
    return [
        FoundNode(name=name, forward=name in forwarding | switches, copies=name in odd)
        for name in dict.fromkeys(device.node for device in seen)
    ]


def _link(pair: tuple[Device, Device], name: str, sending: Mapping[int, tuple[Sending, ...]]) -> FoundLink:
    return FoundLink(
        name=name,
        mtu=min(end.mtu for end in pair),
        offload=any(end.offload for end in pair),
        ends=tuple(_end(end, sending[end.index][0]) for end in pair),
    )


def _end(device: Device, sending: Sending) -> FoundEnd:
    return FoundEnd(
        name=f"{device.node}:{device.name}",
        node=device.node,
        interface=device.name,
        index=device.index,
        queue=sending.queue,
        wire=sending.wire,
    )


def _interface(device: Device, sending: Sending) -> FoundInterface:
    return FoundInterface(
        name=f"{device.node}:{device.name}",
        node=device.node,
        interface=device.name,
        index=device.index,
        queue=sending.queue,
        wire=sending.wire,
        kind=device.kind,
        mtu=device.mtu,
    )


def _changes(link: str, end: FoundEnd, steps: tuple[Sending, ...]) -> list[FoundChange]:
    return [
        FoundChange(
            at_ns=step.since_ns,
            link=link,
            node=end.node,
            interface=end.interface,
            index=end.index,
            rate_bps=step.rate_bps,
            queue=step.queue,
            wire=step.wire,
        )
        for step in steps[1:]
    ]
