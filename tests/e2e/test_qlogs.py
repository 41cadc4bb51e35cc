"""qlog files that programs leave: their senders stand in the table of QUIC, under `command` and under `exec`.

tests/nightly/test_qlogs_of_others.py has a stack of others; here a program logs what it does with UDP.
"""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from e2e_command import finished, netwarp
from netwarp.store.codes import QuicEvent
from netwarp.store.rundir import RunDir

PROGRAM = '''
"""Sends ten datagrams to an echo, one at a time, and logs them as a QUIC stack would."""

import json
import socket
import sys
import time

ROLE, ADDRESS = sys.argv[1:]
endpoint = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
if ROLE == "server":
    endpoint.bind((ADDRESS, 4433))
    while True:
        endpoint.sendto(*endpoint.recvfrom(2000))
began, events = time.time_ns() / 1e6, []


def log(name, **data):
    events.append({"time": time.time_ns() / 1e6 - began, "name": name, "data": data})


for number in range(10):
    packet = {"packet_type": "1RTT", "packet_number": number}
    log("transport:packet_sent", header=packet, raw={"length": 1200})
    sent = time.monotonic()
    endpoint.sendto(bytes(1200), (ADDRESS, 4433))
    endpoint.recv(2000)
    log("transport:packet_received", header=packet, frames=[{"frame_type": "ack", "acked_ranges": [[number]]}])
    rtt = (time.monotonic() - sent) * 1e3
    log("recovery:metrics_updated", congestion_window=12000 + 1200 * number, latest_rtt=rtt, smoothed_rtt=rtt)
trace = {"common_fields": {"time_format": "relative", "reference_time": began}, "events": events}
with open("own.qlog", "w") as file:
    json.dump({"qlog_version": "0.3", "traces": [trace]}, file)
with open("broken.qlog", "w") as file:
    file.write("{")
'''
SCENARIO = """
name = "logged"
duration = "2s"
nodes = {{ h1 = {{}}, h2 = {{}} }}

[links.path]
ends = ["h1", "h2"]
rate = "10mbit"
delay = "10ms"

[flows.own]
from = "h1"
to = "h2"
tool = "command"
start = "500ms"
client = ["python3", "{program}", "client", "{{destination}}"]
server = ["python3", "{program}", "server", "{{destination}}"]
"""
SESSION = """
ip netns add a; ip netns add b
ip link add eth0 netns a type veth peer eth0 netns b
ip -n a addr add 10.0.0.1/24 dev eth0; ip -n b addr add 10.0.0.2/24 dev eth0
ip -n a link set eth0 up; ip -n b link set eth0 up
tc -n a qdisc add dev eth0 root netem delay 10ms limit 1000
tc -n b qdisc add dev eth0 root netem delay 10ms limit 1000
ip netns exec b python3 {program} server 10.0.0.2 & server=$!
sleep 1
ip netns exec a python3 {program} client 10.0.0.2
kill $server
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("program") / "echo.py"
    path.write_text(PROGRAM)
    return path


def _run(result: Path) -> RunDir:
    (run_id,) = finished(result)
    return RunDir(result / "runs" / run_id)


def _check(run: RunDir, rtt_ns: int, first_rtt_ns: int) -> None:
    """Each datagram's acknowledgement is a row at its instant, with the round trip of the path."""
    acks = run.scan("quic_acks").collect()
    assert acks["event"].to_list() == [QuicEvent.ACKNOWLEDGED] * 10
    assert acks["cwnd_bytes"].to_list() == [12_000 + 1200 * number for number in range(10)]
    assert acks["acked_bytes"].to_list() == [1200 * (number + 1) for number in range(10)]
    assert acks["rtt_ns"].to_list() == pytest.approx([first_rtt_ns, *[rtt_ns] * 9], abs=20_000)
    # The wall clock is a double in ms since 1970, a quarter of a microsecond.
    asked = run.scan("tuples").filter(destination_port=4433).select("tuple_id")
    packets = run.scan("packets").join(asked, on="tuple_id").sort("enqueue_ns").collect()
    sent_ns = packets.filter(interface_index=packets["interface_index"][0])["enqueue_ns"]
    late_ns = (acks["time_ns"] - rtt_ns - sent_ns).abs().max()
    assert isinstance(late_ns, int) and late_ns < 20_000


def test_a_command_has_its_own_log(program: Path, tmp_path: Path) -> None:
    scenario = tmp_path / "logged.toml"
    scenario.write_text(SCENARIO.format(program=program))
    answer = netwarp("run", scenario, "--read", program.parent, "-o", tmp_path / "result")
    assert answer.code == 0, answer.err
    run = _run(tmp_path / "result")
    frame_ns = (1200 + 8 + 20 + 14) * 8 * 100
    _check(run, 2 * (frame_ns + 10_000_000), 2 * (frame_ns + 10_000_000))
    notes = json.loads((run.path / "status.json").read_text())["notes"]
    assert len(notes) == 1 and notes[0].startswith("files/own-client/broken.qlog is not read as qlog: line 1")
    metrics = run.metrics().filter(scope="flow", name="own")
    values = dict(metrics.select("metric", "value").iter_rows())
    assert values["rtt_ms_mean"] == pytest.approx(21.99, abs=0.05)
    assert 10 < values["cwnd_pkts_mean"] < 19
    drawn = netwarp("plot", tmp_path / "result", "cwnd-own", "rtt-own", "--script")
    assert drawn.code == 0, drawn.err
    assert {path.stem for path in (tmp_path / "result" / "plots").glob("*.png")} >= {"cwnd-own", "rtt-own"}
    exported = netwarp("export", tmp_path / "result", "--format", "qlog", "-o", tmp_path / "logs")
    assert exported.code == 0, exported.err
    (trace,) = json.loads(next((tmp_path / "logs").glob("*.qlog")).read_text())["traces"]
    windows = [event["data"].get("congestion_window") for event in trace["events"] if "metrics" in event["name"]]
    assert windows == [12_000 + 1200 * number for number in range(10)]


STRANGE = """
name = "strange"
duration = "2s"
nodes = {{ h1 = {{}}, h2 = {{}} }}

[links.path]
ends = ["h1", "h2"]
rate = "10mbit"

[flows.bulk]
from = "h1"
to = "h2"
tool = "bulk"

[flows.own]
from = "h1"
to = "h2"
tool = "command"
client = ["sh", "{program}"]
"""
LEAVES = r"""
printf '{"qlog_version": "0.3", "traces": [{"common_fields": {}, "events": [' > old.qlog
printf '{"time": 5, "name": "transport:packet_sent", "data": {"raw": {"length": 9}}}]}]}' >> old.qlog
printf '{' > "$(printf 'no\377text').qlog"
ln -s /etc/passwd link.qlog
mkfifo pipe.qlog
"""


def test_logs_that_are_no_use_change_nothing_else(tmp_path: Path) -> None:
    """A log of another time, one whose name is not text, a link and a pipe, from a command that sends nothing."""
    program = tmp_path / "leaves" / "leaves.sh"
    program.parent.mkdir()
    program.write_text(LEAVES)
    scenario = tmp_path / "strange.toml"
    scenario.write_text(STRANGE.format(program=program))
    answer = netwarp("run", scenario, "--read", program.parent, "-o", tmp_path / "result")
    assert answer.code == 0, answer.err
    run = _run(tmp_path / "result")
    assert [flow.name for flow in run.lab.flows] == ["bulk", "own"]
    goodput = run.metrics().filter(scope="flow", name="bulk", metric="goodput_mbps")["value"].item()
    assert goodput > 9
    notes = "\n".join(json.loads((run.path / "status.json").read_text())["notes"])
    assert "the qlog of own is from another time than the run's" in notes
    assert r"files/own-client/no\xfftext.qlog is not read as qlog" in notes
    assert netwarp("export", tmp_path / "result", "--format", "csv", "-o", tmp_path / "csv").code == 0


def test_a_session_has_the_log_of_the_flow_that_begins_with_it(program: Path, tmp_path: Path) -> None:
    script = tmp_path / "session.sh"
    script.write_text(SESSION.format(program=program))
    answer = netwarp("exec", "-o", tmp_path / "result", "--read", program.parent, "--", "sh", script)
    assert answer.code == 0, answer.err
    run = _run(tmp_path / "result")
    _check(run, 20_000_000, 40_000_000)  # the first datagram waits for ARP's answer
    (flow,) = [flow for flow in run.lab.flows if flow.logged_datagram_bytes]
    assert (flow.name, flow.logged_datagram_bytes) == ("a-b-udp-4433", 1200)
    acks = run.scan("quic_acks").select(pl.col("flow_id").unique()).collect()
    assert acks["flow_id"].to_list() == [flow.id]
