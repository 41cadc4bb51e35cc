"""What the network loses is a result: echo requests at a full queue, connections that are never made."""

from __future__ import annotations

from pathlib import Path

from e2e_command import netwarp
from e2e_runs import Runs, only_run
from e2e_traffic import account

FULL = """
name = "full"
duration = "2s"
[nodes]
h1 = {}
h2 = {}
[links.a]
ends = ["h1", "h2"]
rate = "1mbit"
delay = "10ms"
queue = "pfifo limit 10"
[flows.udp]
from = "h1"
to = "h2"
tool = "cbr"
rate = "2mbit"
[flows.ping]
from = "h1"
to = "h2"
tool = "ping"
"""
OUTAGE = """
name = "outage"
duration = "10s"
[nodes]
h1 = {}
r1 = { forward = true }
h2 = {}
[links.access]
ends = ["h1", "r1"]
rate = "1gbit"
[links.bottleneck]
ends = ["r1", "h2"]
rate = "10mbit"
delay = "10ms"
[[changes]]
at = "0s"
link = "bottleneck"
outage = "10s"
[flows.bulk]
from = "h1"
to = "h2"
tool = "bulk"
[flows.sized]
from = "h1"
to = "h2"
tool = "bulk"
bytes = "1MB"
[flows.rpc]
from = "h1"
to = "h2"
tool = "request"
response_size = "10kB"
[flows.fan]
from = "h1"
to = "h2"
tool = "incast"
senders = 3
response_size = "10kB"
[flows.cbr]
from = "h1"
to = "h2"
tool = "cbr"
rate = "1mbit"
[flows.ping]
from = "h1"
to = "h2"
tool = "ping"
"""


def test_a_request_that_finds_a_full_queue_is_lost(runs: Runs) -> None:
    """The queue of the pinging node itself: send(2) says ENOBUFS."""
    run = runs(FULL)
    pings = run.scan("pings").collect()
    lost = pings["rtt_ns"].null_count()
    assert 0 < lost < pings.height
    assert account(run, "ping")["error"] is None
    assert account(run, "ping")["sent_pkts"] == pings.height


def test_flows_that_never_connect_are_a_result(runs: Runs) -> None:
    run = runs(OUTAGE)
    assert set(run.status()["notes"]) == {
        *(f"flow {name} never connected: the network lost its packets" for name in ("bulk", "sized", "rpc", "fan")),
        "flow cbr delivered nothing: the network lost its packets",
        "and 1 more such flows",
    }
    for name in ("bulk", "sized", "rpc", "fan"):
        assert account(run, name)["connect_ns"] is None
        assert account(run, name)["error"] is None
    transfers = run.scan("transfers").collect()
    begun = {flow.name for flow in run.description.flows if flow.id in transfers["flow_id"].to_list()}
    assert begun == {"sized", "rpc", "fan"}, "their first exchange counts as one that is not complete"
    assert transfers["end_ns"].null_count() == transfers.height == 3


def test_a_connection_that_a_host_refuses_to_carry_is_a_failure(tmp_path: Path) -> None:
    """No packet was lost: the router does not forward what the lab says that it does."""
    text = OUTAGE.replace('[[changes]]\nat = "0s"\nlink = "bottleneck"\noutage = "10s"\n', "")
    text = text.partition("[flows.sized]")[0].replace(
        "r1 = { forward = true }", 'r1 = { forward = true, sysctl = { "net.ipv4.ip_forward" = 0 } }'
    )
    (tmp_path / "s.toml").write_text(text)
    answer = netwarp("run", tmp_path / "s.toml", "--no-plots", "-o", tmp_path / "r")
    assert answer.code == 3
    assert only_run(tmp_path / "r").status()["reason"] == "flow bulk never connected"
