"""Names, switches and links from the records of a command's network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from netwarp.analysis.tuples import TCP
from netwarp.discovery.devices import find_devices
from netwarp.discovery.disciplines import Sending, sending_over_time
from netwarp.discovery.namespaces import namespace_names
from netwarp.discovery.traffic import MAX_FLOWS, find_flows
from netwarp.store.rundir import RunDir
from synthetic import write_table

ROOT = 0xFFFFFFFF
A_CLASS = {"class": True}
MADE, NAMED, THERE, GONE, LAST = range(1, 6)


def namespace(cookie: int, event: int, text: str, pid: int = 7) -> Any:
    return {"namespace": cookie, "event": event, "text": text, "pid": pid}


def test_namespaces_have_the_names_that_their_makers_use() -> None:
    rows = [
        namespace(1, MADE, "/run/netwarp-agent init", 1),
        namespace(2, MADE, "ip netns add a"),
        namespace(2, NAMED, "/run/netns/a"),
        namespace(3, MADE, "mnexec -cdn env PS1=\x7f bash --norc --noediting -is mininet:h1"),
        namespace(4, MADE, "/usr/bin/unshare -n sh lab.sh", 57),
        namespace(5, MADE, "ip netns add a"),
        namespace(5, NAMED, "/run/netns/a"),
        namespace(6, MADE, "python3 lab.py", 60),
        namespace(6, NAMED, "/proc/60/fd/4"),
    ]
    names = namespace_names(rows)
    assert names == {1: "root", 2: "a", 3: "h1", 4: "unshare-57", 5: "a.2", 6: "python3-60"}


def device(index: int, name: str, kind: str, space: int = 1, event: int = THERE, **more: int) -> Any:
    empty = {"peer_index": None, "master_index": None}
    row = {"interface_index": index, "namespace": space, "event": event, "name": name, "kind": kind}
    return row | {"mtu_bytes": 1500, "offload": True} | empty | more


def test_ports_belong_to_their_switch() -> None:
    rows = [
        device(1, "ovs-system", "openvswitch"),
        device(2, "s1", "openvswitch"),
        device(3, "s10", "openvswitch"),
        device(4, "s10-eth1", "veth", master_index=1),
        device(5, "s1-eth1", "veth", master_index=1),
        device(6, "br0", "bridge", space=2),
        device(7, "p", "veth", space=2, master_index=6),
        device(8, "eth0", "veth", space=2, peer_index=7),
    ]
    found = find_devices(rows, {1: "root", 2: "h1"})
    nodes = {one.name: one.node for one in found.values()}
    assert nodes == {
        "ovs-system": "ovs-system",
        "s1": "s1",
        "s10": "s10",
        "s10-eth1": "s10",
        "s1-eth1": "s1",
        "br0": "h1.br0",
        "p": "h1.br0",
        "eth0": "h1",
    }


def test_an_interface_is_where_it_went_and_stays_known_when_it_is_gone() -> None:
    rows = [
        device(1, "tmp", "veth"),
        device(1, "tmp", "veth", event=GONE),
        device(1, "eth0", "veth", space=2, peer_index=9),
        device(1, "eth0", "veth", space=2, event=GONE),
        device(2, "eth0", "veth", space=2),
    ]
    found = find_devices(rows, {1: "root", 2: "h1"})
    assert [(one.node, one.name, one.peer) for one in found.values()] == [("h1", "eth0", 9), ("h1", "eth0.2", None)]


def discipline(time_ns: int, kind: str, handle: int, parent: int = ROOT, **more: Any) -> Any:
    row = {"time_ns": time_ns, "kind": kind, "handle": handle, "parent": parent, "class": False, "gone": False}
    return row | dict.fromkeys(("rate_bps", "limit", "delay_ns", "jitter_ns", "loss")) | more


def test_a_tree_of_disciplines_is_a_link() -> None:
    """Mininet's TCLink sets up such a tree; later tc changes its rate."""
    rows = [
        discipline(1, "line", 0, gone=True),
        discipline(1, "htb", 0x50000),
        discipline(1, "htb", 0x50001, rate_bps=10_000_000, **A_CLASS),
        discipline(1, "netem", 0x100000, parent=0x50001, delay_ns=8_000_000, limit=100, loss=0.1),
        discipline(500, "htb", 0x50001, rate_bps=20_000_000, **A_CLASS),
        discipline(900, "htb", 0x50000, gone=True),
    ]
    line = Sending(-(2**62), 10**10, kinds=("line",))
    steps = sending_over_time(rows, line, 100, 1000)
    assert [(step.rate_bps, step.delay_ns, step.kinds, step.limit) for step in steps] == [
        (10_000_000, 8_000_000, ("htb", "netem"), 100),
        (20_000_000, 8_000_000, ("htb", "netem"), 100),
        (10**10, 0, ("line",), None),
    ]
    assert steps[0].wire.as_json()["loss"] == {"model": "random", "p": 0.09999999999999998, "correlation": 0.0}
    assert sending_over_time(rows, line, 100, 400) == steps[:1]
    assert sending_over_time([], line, 100, 400) == (line,)


def test_of_too_many_flows_alike_the_first_are_kept(tmp_path: Path) -> None:
    """The same records give the same flows, although a join and a sort may give equal rows in any order."""
    ends = {"protocol": TCP, "source": "10.0.0.1", "destination": "10.0.1.2", "destination_port": 80}
    numbers = range(MAX_FLOWS + 200)
    write_table(tmp_path, "tuples", [{"tuple_id": n, "source_port": 1024 + n, **ends} for n in numbers])
    write_table(tmp_path, "arrivals", [{"time_ns": n, "tuple_id": n, "new_bytes": 20_000} for n in numbers])
    found = find_flows(RunDir(tmp_path), {}, {})
    assert [flow.source_port for flow in found] == [1024 + n for n in range(MAX_FLOWS)]
