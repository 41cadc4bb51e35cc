"""Programs act on the interfaces of a link that is a device: VLANs, addresses, and the end of both."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from e2e_command import netwarp
from e2e_runs import Runs
from e2e_traffic import flow, pair, python_command

VLAN = (
    "for node in h1 h2; do ip -n $node link add link eth0 name eth0.5 type vlan id 5; "
    "ip -n $node addr add 192.168.5.${node#h}/24 dev eth0.5; ip -n $node link set eth0.5 up; done; "
    "ping -c 3 -i 0.1 -s 1400 192.168.5.2"
)
NAMESPACES_GO = """
import ctypes, os, time
for line in ("netns add a", "netns add b", "link set eth0 netns a", "-n h2 link set eth0 netns b"):
    assert os.system(f"ip {line}") == 0
libc = ctypes.CDLL(None)
for name in (b"a", b"b"):
    assert libc.umount2(b"/run/netns/" + name, 2) == 0  # MNT_DETACH
time.sleep(1)
print("still here")
"""


def test_a_vlan_tag_takes_its_time_and_the_bytes_of_the_queue_arrive(runs: Runs) -> None:
    """Each way a frame of ICMP's 1408 bytes, 20 of IP, 14 of Ethernet and 4 of the tag; the run is not suspect."""
    client = json.dumps(["sh", "-c", VLAN])
    run = runs(pair(flow("vlan", "command", f"client = {client}")))
    times_ms = re.findall(r"time=([\d.]+) ms", (run.path / "vlan-client.out").read_text())
    assert len(times_ms) == 3
    expected_ms = 2 * (5 + (1408 + 20 + 14 + 4) * 8 / 1e4)
    assert float(times_ms[-1]) == pytest.approx(expected_ms, abs=0.05), "ping prints three digits"


def test_an_address_changes_while_the_interface_is_up(runs: Runs) -> None:
    change = "ip link set eth0 address 02:00:00:00:00:77 && cat /sys/class/net/eth0/address"
    client = json.dumps(["sh", "-c", change])
    run = runs(pair(flow("mac", "command", f"client = {client}")))
    assert (run.path / "mac-client.out").read_text() == "02:00:00:00:00:77\n"


def test_both_ends_may_go_at_once(tmp_path: Path) -> None:
    """The kernel takes the devices of namespaces that end together away one by one, each with its peer.

    The run fails, since its link is gone, but the machine goes on.
    """
    gone = flow("gone", "command", f"client = {python_command(NAMESPACES_GO)}")
    (tmp_path / "gone.toml").write_text(pair(gone, duration="3s"))
    answer = netwarp("run", tmp_path / "gone.toml", "--no-plots", "-o", tmp_path / "result")
    assert answer.code == 3, answer.err
    (run,) = (tmp_path / "result" / "runs").iterdir()
    assert "still here" in (run / "gone-client.out").read_text()
    assert "eth0" in answer.words and "died" not in answer.words
