"""Discovered interfaces and their nodes: an interface's namespace, or the switch of which it is a port."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from netwarp.discovery.namespaces import ROOT, distinct
from netwarp.store.codes import Sight
from netwarp.store.rows import DeviceRow
from netwarp.values.names import found_name

BRIDGE, OVS = "bridge", "openvswitch"
VETH, LOOPBACK, DUMMY = "veth", "loopback", "dummy"


@dataclass(frozen=True)
class Device:
    """An interface in its last namespace; `name` is unique within its node."""

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
        """The sort key of nodes and ends: namespaces in the order of their creation, then switches."""
        return self.is_port, self.namespace, self.index

    @property
    def is_switch(self) -> bool:
        """Whether it is itself a switch: a bridge, a datapath of Open vSwitch, or a bridge of that datapath."""
        return self.kind in {BRIDGE, OVS}


def find_devices(rows: Iterable[DeviceRow], namespaces: Mapping[int, str]) -> dict[int, Device]:
    """Find every interface, by its index; `rows` are those of `devices.arrows`, in their order."""
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
    """Return the interfaces with their nodes, and with names that are unique there: a script may reuse a name."""
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
    """Find the switch of which it is a port; None if there is none.

    All bridges of Open vSwitch are one datapath for the kernel. A port's bridge is known if the port's name begins with
    the bridge's, as in Mininet (s1-eth1), or if there is only one bridge.
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
