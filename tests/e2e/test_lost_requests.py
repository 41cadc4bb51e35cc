"""Loss in the network is a result: echo requests at a full queue, connections that are never made."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from e2e_command import netwarp
from e2e_runs import Runs, only_run
from e2e_traffic import SECOND, account, flow

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


NEVER = OUTAGE.partition("[flows.bulk]")[0]
"""The network of an outage that lasts for the whole run, without flows."""
LATER = (
    NEVER.replace('duration = "10s"', 'duration = "60s"')
    .replace('at = "0s"', 'at = "5s"')
    .replace('outage = "10s"', 'outage = "40s"')
    .replace(
        "h1 = {}",
        'h1 = { sysctl = { "net.ipv4.tcp_retries2" = 3, "net.ipv4.tcp_syn_retries" = 2, '
        '"net.ipv4.tcp_syn_linear_timeouts" = 0 } }',
    )
    .replace("h2 = {}", 'h2 = { sysctl = { "net.ipv4.tcp_retries2" = 3 } }')
)
"""An outage that is longer than TCP's retransmissions, which last some seconds."""


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
    """No packet was lost: the router does not forward although the lab says so."""
    text = OUTAGE.replace('[[changes]]\nat = "0s"\nlink = "bottleneck"\noutage = "10s"\n', "")
    text = text.partition("[flows.sized]")[0].replace(
        "r1 = { forward = true }", 'r1 = { forward = true, sysctl = { "net.ipv4.ip_forward" = 0 } }'
    )
    (tmp_path / "s.toml").write_text(text)
    answer = netwarp("run", tmp_path / "s.toml", "--no-plots", "-o", tmp_path / "r")
    assert answer.code == 3
    assert only_run(tmp_path / "r").status()["reason"] == "flow bulk never connected"


def test_iperf3_that_never_connects_is_a_result(runs: Runs) -> None:
    """It still waits when the run ends."""
    run = runs(NEVER + flow("tcp", "iperf3") + flow("udp", "iperf3", 'protocol = "udp"'))
    assert set(run.status()["notes"]) == {
        f"flow {name} never connected: the network lost its packets" for name in ("tcp", "udp")
    }
    for name in ("tcp", "udp"):
        assert account(run, name)["connect_ns"] is None
        assert account(run, name)["error"] is None


def test_connections_that_time_out_are_a_result(runs: Runs) -> None:
    """ETIMEDOUT of connections that were made, and of those that begin during the outage."""
    sizes = ('request_size = "10kB"', 'response_size = "10kB"')
    kinds = {"iperf3": (), "bulk": (), "request": sizes, "incast": ("senders = 3", *sizes)}
    early = [flow(kind, kind, *lines) for kind, lines in kinds.items()]
    late = [flow(f"late-{kind}", kind, 'start = "10s"', *lines) for kind, lines in kinds.items()]
    run = runs(LATER + "".join([*early, *late]))
    *notes, charged = run.status()["notes"]
    assert set(notes) == {
        *(f"flow late-{kind} never connected: the network lost its packets" for kind in kinds),
        "flow bulk lost its connection between 12s and 13s: TCP retransmitted in vain until it gave up",
    }
    assert charged.startswith("programs that wait by asking took virtual time: iperf3 ")
    for kind in kinds:
        assert account(run, kind)["error"] is None
        assert account(run, kind)["connect_ns"] is not None
        assert account(run, f"late-{kind}")["error"] is None
    exchanging = {f.id for f in run.description.flows if f.name.endswith(("request", "incast"))}
    transfers = run.scan("transfers").collect()
    unfinished = transfers.filter(pl.col("end_ns").is_null())
    assert set(unfinished["flow_id"]) == exchanging
    begun_later = unfinished.filter(pl.col("start_ns") > 45 * SECOND)
    assert begun_later.is_empty(), "none is begun on a connection that is lost"


@pytest.mark.parametrize(("words", "why"), [('"--nonsense"', "exit status 1"), ('"-p", "9"', "Connection refused")])
def test_iperf3_that_fails_by_itself_is_a_failure(words: str, why: str, tmp_path: Path) -> None:
    """Although the network loses its packets for a time."""
    text = NEVER.replace('outage = "10s"', 'outage = "1s"') + flow("test", "iperf3", f"args = [{words}]")
    (tmp_path / "s.toml").write_text(text)
    answer = netwarp("run", tmp_path / "s.toml", "--no-plots", "-o", tmp_path / "r")
    assert answer.code == 3
    assert why in str(only_run(tmp_path / "r").status()["reason"])


def test_a_udp_test_whose_opening_is_lost_is_a_result(runs: Runs) -> None:
    """Its control connection is made, in three round trips of 200 ms, before the outage."""
    text = NEVER.replace('at = "0s"', 'at = "700ms"').replace('outage = "10s"', 'outage = "8s"')
    text = text.replace('delay = "10ms"', 'delay = "100ms"') + '[run]\nstart_jitter = "0s"\n'
    run = runs(text + flow("udp", "iperf3", 'protocol = "udp"'))
    assert run.status()["notes"] == ["flow udp never connected: the network lost its packets"]
    assert "Resource temporarily unavailable" in (run.path / "iperf3-udp.json").read_text()
