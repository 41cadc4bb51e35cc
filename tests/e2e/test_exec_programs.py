"""Programs of others, unmodified, in virtual time: twice with the same bytes."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

import pytest
from e2e_exec import twice

MININET = Path(__file__).with_name("mininet_lab")
NEST = Path(__file__).with_name("nest_lab")


def test_a_mininet_script_with_routers(tmp_path: Path) -> None:
    """10 Mbit/s of frames of 1514 bytes are 9.56 Mbit/s of payload; two delays of 10 ms in all make an RTT of 20 ms."""
    shutil.copy(MININET, tmp_path)
    made = twice(tmp_path, "/usr/bin/python3", tmp_path / MININET.name, "20")
    printed = (made / "command.out").read_text()
    assert "4 packets transmitted, 4 received, 0% packet loss" in printed
    rtt = re.search(r"rtt min/avg/max/mdev = ([\d.]+)/", printed)
    assert rtt is not None
    assert 20.0 <= float(rtt[1]) <= 21.0
    report = json.loads((made / "files/iperf3.json").read_text())
    received = report["end"]["sum_received"]["bits_per_second"] / 1e6
    assert 9.2 <= received <= 9.57


def test_mininets_default_switch(tmp_path: Path) -> None:
    """Open vSwitch with the distribution's daemons, started as its own script does."""
    script = """
        set -e
        /usr/share/openvswitch/scripts/ovs-ctl start --system-id=random --no-monitor >&2
        mn --switch ovsbr --test pingall
        mn --clean >&2
    """
    made = twice(tmp_path, "sh", "-c", script)
    printed = (made / "command.out").read_text() + (made / "command.err").read_text()
    assert "Results: 0% dropped (2/2 received)" in printed


@pytest.mark.parametrize(
    ("server", "client", "wanted"),
    [("iperf3 -s -1 -D", "iperf3 -c 10.0.0.2 -t 10 | tail -4", r"9\.[2-9]\d Mbits/sec")],
)
def test_a_shell_script_with_namespaces(server: str, client: str, wanted: str, tmp_path: Path) -> None:
    script = f"""
        set -e
        ip netns add a; ip netns add b
        ip link add va netns a type veth peer name vb netns b
        ip -n a addr add 10.0.0.1/24 dev va; ip -n b addr add 10.0.0.2/24 dev vb
        ip -n a link set va up; ip -n b link set vb up
        tc -n a qdisc add dev va root tbf rate 10mbit burst 3000 limit 150000
        tc -n b qdisc add dev vb root netem delay 20ms
        ip netns exec b {server}
        sleep 1
        ip netns exec a {client}
    """
    made = twice(tmp_path, "sh", "-c", script)
    assert re.search(wanted, (made / "command.out").read_text())


@pytest.mark.nightly
def test_a_nest_script(tmp_path: Path) -> None:
    """NeST of PyPI, with flows of iperf3. It looks for netem's distributions where only other systems have them."""
    script = f"""
        set -e
        test -d /usr/lib/tc || ln -s /usr/lib/*/tc /usr/lib/tc
        {sys.executable} {NEST}
        cp */ping.json */iperf3.json */tc.json .
    """
    made = twice(tmp_path, "sh", "-c", script)
    assert "Experiment lab complete!" in (made / "command.out").read_text() + (made / "command.err").read_text()
    flows = json.loads((made / "files/iperf3.json").read_text())
    rates = [float(rate) for rate in re.findall(r'"sending_rate": "?([\d.]+)', json.dumps(flows))]
    assert rates, flows
    assert 8.5 <= sum(rates) / len(rates) <= 10.5
    rtts = [float(rtt) for rtt in re.findall(r'"rtt": "?([\d.]+)', (made / "files/ping.json").read_text())]
    assert min(rtts) == 20.0
    assert "fq_codel" in (made / "files/tc.json").read_text()
