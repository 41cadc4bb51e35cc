"""Bytes that reach a reader are counted, for any transport; uncounted ones are absent; waiting ones are accounted
for."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from e2e_command import netwarp
from e2e_runs import Runs, only_run
from e2e_traffic import SECOND, flow, pair, values
from netwarp.analysis.flow.flows import load_flows
from netwarp.analysis.run.series import throughput, whole_run
from netwarp.store.codes import Place
from netwarp.store.run_status import RunStatus
from netwarp.store.rundir import RunDir

COOKIE, MESSAGE = 37, 65536
"""iperf3's bytes over each connection before its test, and in each of its messages over SCTP."""
LOSSY = 'loss = "0.5%"'


def iperf3_sctp(*more: str) -> str:
    """iperf3 over SCTP as another program: its receiver's count is in `sctp-server.out`."""
    client = ["iperf3", "--sctp", "-c", "{destination}", "-t", "4", *more]
    return flow(
        *("sctp", "command", f"client = {json.dumps(client)}", 'server = ["iperf3", "-s", "-1", "-J"]'),
        'ready = "port 5201"',
    )


def received(run: RunDir) -> dict[str, float]:
    told: dict[str, float] = json.loads((run.path / "sctp-server.out").read_text())["end"]["sum_received"]
    return told


def readable(run: RunDir, protocol: int) -> int:
    """Bytes that readers could take, of all tuples of this protocol."""
    tuples = run.scan("tuples").filter(protocol=protocol).collect()["tuple_id"].to_list()
    return int(run.scan("arrivals").filter(pl.col("tuple_id").is_in(tuples)).collect()["in_order_bytes"].sum())


@pytest.mark.parametrize("link", ["", LOSSY, "offload = true"])
def test_sctp_beside_tcp_is_what_its_receiver_counts(runs: Runs, link: str) -> None:
    run = runs(pair(flow("tcp", "bulk") + iperf3_sctp(), queue="pfifo limit 50", duration="6s", link=link, router=True))
    told, found = received(run), values(run, "sctp")
    life = next(one.window for one in load_flows(run, transits=False) if one.flow.name == "sctp")
    whole = told["bytes"] + COOKIE
    assert readable(run, 132) == whole
    assert whole <= found["goodput_mbps"] * life.length_ns / 8e3 < whole + MESSAGE, "of its last message a part came"
    assert values(run, "tcp")["goodput_mbps"] > 1
    tuples = run.scan("tuples").filter(protocol=132).collect()["tuple_id"].to_list()
    drops = run.scan("drops").filter(pl.col("tuple_id").is_in(tuples)).collect()
    at_nodes = drops.filter(pl.col("place") != Place.SENT)
    assert at_nodes.filter((pl.col("function") != "sctp_rcv") | (pl.col("packet_bytes") > 100)).is_empty(), (
        "only the server's packets about a closed association have no receiver"
    )


RAW_SENDER = """
import socket, sys, time
agreed = socket.create_connection((sys.argv[1], 9000))
own = socket.socket(socket.AF_INET, socket.SOCK_RAW, 253)
for number in range(1000):
    own.sendto(bytes(1000), (sys.argv[1], 0))
    time.sleep(0.001)
agreed.sendall(b"the end")
"""
RAW_RECEIVER = """
import socket
own = socket.socket(socket.AF_INET, socket.SOCK_RAW, 253)
agreed = socket.create_server(("", 9000)).accept()[0]
agreed.recv(100)
"""


def test_of_a_transport_that_nobody_counts_no_goodput_is_told(runs: Runs, tmp_path: Path) -> None:
    """A program that negotiates by TCP and sends by another protocol."""
    (tmp_path / "sender.py").write_text(RAW_SENDER)
    (tmp_path / "receiver.py").write_text(RAW_RECEIVER)
    own = flow(
        *("own", "command", f'server = ["python3", "{tmp_path}/receiver.py"]', 'ready = "port 9000"'),
        f'client = ["python3", "{tmp_path}/sender.py", "{{destination}}"]',
    )
    run = runs(pair(own, duration="3s"), "--read", str(tmp_path))
    assert "goodput_mbps" not in values(run, "own")
    assert run.scan("packets").collect().height > 1000, "else this says nothing"


THREE = """
    set -e
    for node in a r b; do ip netns add $node; done
    ip link add to-r netns a type veth peer name to-a netns r
    ip link add to-b netns r type veth peer name from-r netns b
    ip -n a addr add 10.0.1.1/24 dev to-r; ip -n r addr add 10.0.1.2/24 dev to-a; ip -n r addr add 10.0.2.1/24 dev to-b
    ip -n a link set to-r up; ip -n r link set to-a up; ip -n r link set to-b up; ip -n b link set from-r up
    ip -n a route add default via 10.0.1.2
    ip netns exec r sysctl -q net.ipv4.ip_forward=1
"""


def waiting(place: Path, script: str) -> dict[str, int]:
    """Number of packets that wait in all nodes afterwards; the run must be a good one."""
    answer = netwarp("exec", "-o", place / "result", "--", "sh", "-c", THREE + script, cwd=place)
    assert answer.code == 0, answer.err + answer.out
    run = only_run(place / "result")
    assert run.status()["status"] == RunStatus.OK, run.status()
    return run.scan("interfaces").select("waiting_pkts", "unsent_pkts").sum().collect().row(0, named=True)


def test_a_run_may_end_while_packets_wait_for_an_address(tmp_path: Path) -> None:
    """No node answers for 10.0.2.9, as the router learns after three seconds; the run ends before that."""
    script = "ip netns exec a ping -c 4 -i 0.2 -W 0.2 10.0.2.9 || true"
    assert waiting(tmp_path, script) == {"waiting_pkts": 4, "unsent_pkts": 0}


def test_what_a_node_itself_holds_for_an_address_is_accounted_for(tmp_path: Path) -> None:
    script = "ip netns exec r ping -c 4 -i 0.2 -W 0.2 10.0.2.9 || true"
    assert waiting(tmp_path, script) == {"waiting_pkts": 0, "unsent_pkts": 4}


def test_what_waited_in_vain_is_dropped(tmp_path: Path) -> None:
    script = "ip netns exec a ping -c 2 -i 0.2 -W 0.2 10.0.2.9 || true; sleep 5"
    assert waiting(tmp_path, script) == {"waiting_pkts": 0, "unsent_pkts": 0}


FRAGMENT = """
import socket, struct, sys
own = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
more, alert, to = 0x2000, bytes([148, 4, 0, 0]), socket.inet_aton(sys.argv[1])
head = struct.pack("!BBHHHBBH4s4s", 0x46, 0, 0, 7, more, 64, 17, 0, socket.inet_aton("10.0.1.1"), to)
own.sendto(head + alert + bytes(64), (sys.argv[1], 0))
"""
ALERTED = """
import socket, time
own = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_UDP)
own.setsockopt(socket.IPPROTO_IP, 5, 1)  # IP_ROUTER_ALERT
time.sleep(3)
"""


@pytest.mark.parametrize(("to", "waits"), [("10.0.1.2", 0), ("10.0.2.9", 1)])
def test_a_run_may_end_while_a_fragment_waits_for_the_others(tmp_path: Path, to: str, waits: int) -> None:
    """The node's own fragment has been delivered to its transport; a forwarded one has not, if a program wants it
    whole."""
    (tmp_path / "fragment.py").write_text(FRAGMENT)
    (tmp_path / "alerted.py").write_text(ALERTED)
    script = f"ip netns exec r python3 alerted.py &\nsleep 1; ip netns exec a python3 fragment.py {to}; sleep 1"
    assert waiting(tmp_path, script) == {"waiting_pkts": waits, "unsent_pkts": 0}


READER = """
import socket, time
own = socket.create_server(("", 9000)).accept()[0]
total = 0
while got := own.recv(1 << 20):
    total += len(got)
    print(time.monotonic_ns(), total)
"""
WRITER = """
import socket, sys
own = socket.create_connection((sys.argv[1], 9000))
for _ in range(300):
    own.sendall(bytes(10000))
"""


def test_what_a_program_has_read_is_what_was_recorded_as_readable(runs: Runs, tmp_path: Path) -> None:
    """To the byte and the nanosecond, over losses; and second by second it is the goodput of the figures."""
    (tmp_path / "reader.py").write_text(READER)
    (tmp_path / "writer.py").write_text(WRITER)
    own = flow(
        *("own", "command", f'server = ["python3", "{tmp_path}/reader.py"]', 'ready = "port 9000"'),
        f'client = ["python3", "{tmp_path}/writer.py", "{{destination}}"]',
    )
    text = pair(
        own, rate="5mbit", queue="pfifo limit 20", link='loss = "1%"', duration="12s", delay="20ms", router=True
    )
    run = runs(text, "--read", str(tmp_path))
    lines = [line.split() for line in (run.path / "own-server.out").read_text().splitlines()]
    times, totals = np.array(lines, np.int64).T
    (data,) = load_flows(run, transits=False)
    assert data.readable is not None
    assert data.deliveries is not None
    assert data.readable.total_bytes[-1] == data.deliveries.total_bytes[-1] == totals[-1] == 3_000_000
    times += data.readable.times_ns[0] - times[0]
    assert (data.readable.by(times) == totals).all()
    assert (data.deliveries.by(times) >= totals).all()
    assert (data.deliveries.by(times) > totals).any(), "else nothing was lost, and this says nothing"
    frame = throughput([data], whole_run(run))
    edges = np.arange(13) * SECOND
    read = np.concatenate([[0], totals])[np.searchsorted(times, edges, side="right")]
    assert frame["throughput_mbps"].to_numpy() == pytest.approx(np.diff(read) * 8 / 1e6)
