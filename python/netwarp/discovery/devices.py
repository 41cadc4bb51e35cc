"""Interfaces that were found, and the node that each belongs to: its namespace, or the switch that it is a port of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from netwarp.discovery.namespaces import ROOT, distinct
from netwarp.names import found_name
from netwarp.store.codes import Sight
from netwarp.store.rows import DeviceRow

BRIDGE, OVS = "bridge", "openvswitch"
VETH, LOOPBACK, DUMMY = "veth", "loopback", "dummy"


@dataclass(frozen=True)
class Device:
    """An interface as it was in the namespace in which it was last; `name` is unique with its node."""

    index: int
    namespace: int
    name: str
    kind: str
    mtu: int
    offload: bool
    peer: int | None
    master: int | None
    node: str = ""
    is_port: bool = False

    @property
    def order(self) -> tuple[bool, int, int]:
        """How nodes and ends are listed: namespaces as they were made, then switches."""
        return self.is_port, self.namespace, self.index

    @property
    def is_switch(self) -> bool:
        """Whether it is a switch by itself: a bridge, a datapath of Open vSwitch, or a bridge in that."""
        return self.kind in {BRIDGE, OVS}


def find_devices(rows: Iterable[DeviceRow], namespaces: Mapping[int, str]) -> dict[int, Device]:
    """Every interface by its index; `rows` are those of `devices.arrows`, in their order."""
    found: dict[int, Device] = {}
    for row in rows:
        index, before = int(row["interface_index"]), found.get(row["interface_index"])
        if row["event"] == Sight.GONE and before is not None:
            continue
        found[index] = Device(
            index=index,
            namespace=int(row["namespace"]),
            name=found_name(row["name"]),
            kind=row["kind"],
            mtu=int(row["mtu_bytes"]),
            offload=bool(row["offload"]),
            peer=row["peer_index"] or (before.peer if before else None),
            master=row["master_index"] or (before.master if before else None),
        )
    return _named(found, namespaces)


def _named(found: Mapping[int, Device], namespaces: Mapping[int, str]) -> dict[int, Device]:
    """With their nodes, and names that are unique there: a script may make one interface after another."""
    named: dict[int, Device] = {}
    taken: dict[str, list[str]] = {}
    for device in found.values():
        node = _node(device, found, namespaces)
        names = taken.setdefault(node, [])
        name = distinct(device.name, names)
        names.append(name)
        is_port = device.is_switch or _switch(device, found) is not None
        named[device.index] = replace(device, node=node, name=name, is_port=is_port)
    return named


def _node(device: Device, found: Mapping[int, Device], namespaces: Mapping[int, str]) -> str:
    namespace = namespaces.get(device.namespace, f"namespace-{device.namespace}")
    switch = device if device.is_switch else _switch(device, found)
    if switch is None:
        return namespace
    own = switch.name if namespace == ROOT else f"{namespace}.{switch.name}"
    return f"{own}.switch" if own in namespaces.values() else own


def _switch(device: Device, found: Mapping[int, Device]) -> Device | None:
    """What it is a port of, if that is a switch.

    All bridges of Open vSwitch are one datapath for the kernel. Which of them a port belongs to shows in its name where
    that begins with the bridge's, as Mininet's do (s1-eth1), or where there is only one.
    """
    master = found.get(device.master) if device.master else None
    if master is None or not master.is_switch:
        return None
    if master.kind == BRIDGE:
        return master
    bridges = [one for one in found.values() if one.kind == OVS and one.namespace == master.namespace and one != master]
    likely = [bridge for bridge in bridges if device.name.startswith(f"{bridge.name}-")]
    if likely:
        return max(likely, key=lambda bridge: len(bridge.name))
    return bridges[0] if len(bridges) == 1 else master
