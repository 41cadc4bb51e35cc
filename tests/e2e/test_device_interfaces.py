"""Programs act on the interfaces of a link that is a device: VLANs, addresses, and the end of both."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
from e2e_command import NETWARP, PATIENCE_S, environment
from e2e_runs import Runs
from e2e_traffic import flow, pair

VLAN = (
    "for node in h1 h2; do ip -n $node link add link eth0 name eth0.5 type vlan id 5; "
    "ip -n $node addr add 192.168.5.${node#h}/24 dev eth0.5; ip -n $node link set eth0.5 up; done; "
    "ping -c 3 -i 0.1 -s 1400 192.168.5.2"
)
TWO = """
name = "two"
duration = "2s"
[nodes]
h1 = {}
h2 = {}
[links.wire]
ends = ["h1", "h2"]
rate = "10mbit"
"""
BOTH_GO = """
ip netns add a; ip netns add b
ip link set eth0 netns a && ip -n h2 link set eth0 netns b || exit 1
python3 -c "
import ctypes
umount2, detach = ctypes.CDLL(None).umount2, 2
print([umount2(b'/run/netns/' + name, detach) for name in (b'a', b'b')])
"
sleep 1; echo still here
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
    """The kernel takes the devices of namespaces that end together away one by one, each with its peer."""
    (tmp_path / "two.toml").write_text(TWO)
    words = [str(NETWARP), "shell", str(tmp_path / "two.toml")]
    answer = subprocess.run(
        words, input=BOTH_GO, env=environment(), capture_output=True, text=True, check=False, timeout=PATIENCE_S
    )
    assert answer.stdout.splitlines() == ["[0, 0]", "still here"], answer.stderr
    assert "died" not in answer.stderr
