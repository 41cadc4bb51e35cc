"""Flows over Multipath TCP: two paths, subflows, fallback, backups and outages, compared with calculated values."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from e2e_command import netwarp
from e2e_runs import Runs, only_run
from e2e_traffic import SECOND, account, flow, values
from netwarp.store.rundir import RunDir
from netwarp.values.constants import MPTCP_OPTION_BYTES

FRAME = 14 + 1500
WIFI_MBPS, MOBILE_MBPS = 20, 10


def payload(family: str = "ipv4") -> int:
    """Payload of a full segment: a packet of 1500 bytes less the headers of IP and TCP, timestamps, and the mapping."""
    return 1500 - (40 if family == "ipv6" else 20) - 32 - MPTCP_OPTION_BYTES


def two_paths(*flows: str, duration: str = "6s", tail: str = "", nodes: str = "h2 = {}") -> str:
    """The scenario of h1 with two links, each to a router with a slow link to the same next one, before h2."""
    return f"""
name = "paths"
duration = "{duration}"
[run]
start_jitter = "0s"
[nodes]
h1 = {{}}
a = {{ forward = true }}
b = {{ forward = true }}
r = {{ forward = true }}
{nodes}
[links.wifi]
ends = ["h1", "a"]
rate = "100mbit"
[links.mobile]
ends = ["h1", "b"]
rate = "100mbit"
[links.a-r]
ends = ["a", "r"]
rate = "{WIFI_MBPS}mbit"
delay = "5ms"
queue = "pfifo limit 50"
[links.b-r]
ends = ["b", "r"]
rate = "{MOBILE_MBPS}mbit"
delay = "25ms"
queue = "pfifo limit 60"
[links.last]
ends = ["r", "h2"]
rate = "1gbit"
{"".join(flows)}
{tail}
"""


def outage(length: str) -> str:
    """The change in which the link `wifi` passes nothing from 3 s on, to the end of the run."""
    return f'[[changes]]\nat = "3s"\nlink = "wifi"\noutage = "{length}"\n'


def reads(run: RunDir) -> pl.DataFrame:
    """Each read of the application."""
    return run.scan("mptcp_reads").collect()


@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
def test_two_paths_give_the_sum_of_their_rates_less_headers(runs: Runs, family: str) -> None:
    """The kernel cuts a few segments short where a mapping ends, so that the sum is missed by up to half a percent."""
    one = flow("up", "mptcp", f'family = "{family}"')
    run = runs('warmup = "2s"\n' + two_paths(one, duration="12s"))
    share = payload(family) / FRAME
    assert values(run, "up")["goodput_mbps"] == pytest.approx((WIFI_MBPS + MOBILE_MBPS) * share, rel=0.005)
    for link, mbps in (("wifi", WIFI_MBPS), ("mobile", MOBILE_MBPS)):
        found = values(run, f"up:{link}", "subflow")
        assert found["goodput_mbps"] == pytest.approx(mbps * share, rel=0.01)
    sizes = run.scan("arrivals").collect()["payload_bytes"].to_list()
    assert sizes.count(payload(family)) > 0.95 * len(sizes), "else this says nothing of full segments"
    assert max(sizes) == payload(family)
    assert values(run, "up")["subflows"] == 2


def test_each_subflow_has_the_round_trips_of_its_path(runs: Runs) -> None:
    """Without load, a transfer in one window, the RTT is that of two delays and of serialisation."""
    run = runs(two_paths(flow("up", "mptcp", "bytes = 20000"), duration="2s"))
    acks = run.scan("acks").join(run.scan("tuples"), on="tuple_id").filter(destination_port=5001).collect()
    least = acks.group_by("source").agg(pl.col("rtt_us").min())
    found = dict(least.iter_rows())
    assert found["10.0.0.1"] == pytest.approx(2 * 5000, abs=1500)
    other = [rtt for source, rtt in found.items() if source != "10.0.0.1" and rtt is not None]
    assert all(rtt == pytest.approx(2 * 25_000, abs=2500) for rtt in other)


def test_a_sized_flow_is_complete_to_the_byte_when_its_last_byte_is_read(runs: Runs) -> None:
    run = runs(two_paths(flow("up", "mptcp", "bytes = 3000001")))
    (transfer,) = run.scan("transfers").collect().to_dicts()
    assert reads(run)["in_order_bytes"].sum() == account(run, "up")["received_bytes"] == transfer["bytes"] == 3_000_001
    assert transfer["end_ns"] == reads(run)["time_ns"].max() == account(run, "up")["end_ns"]
    arrived = run.scan("arrivals").select(pl.col("new_bytes").sum()).collect().item()
    (end,) = run.scan("mptcp").collect().to_dicts()
    assert arrived == 3_000_001 + end["reinjected_bytes"]
    assert end["sent_bytes"] == 3_000_001
    assert not end["fell_back"]


def test_links_choose_the_subflows(runs: Runs) -> None:
    run = runs(two_paths(flow("up", "mptcp", "links = []"), duration="3s"))
    assert values(run, "up")["subflows"] == 1
    assert "goodput_mbps" not in values(run, "up:mobile", "subflow")


def test_a_backup_sends_only_after_the_outage(runs: Runs) -> None:
    run = runs(two_paths(flow("up", "mptcp", 'backup = ["mobile"]'), duration="8s", tail=outage("5s")))
    over_mobile = run.scan("tuples").filter(source="10.0.1.1").select("tuple_id")
    first_ns = run.scan("arrivals").join(over_mobile, on="tuple_id").select(pl.col("time_ns").min()).collect().item()
    assert 3 * SECOND < first_ns < 5 * SECOND
    last = reads(run).filter(pl.col("time_ns") > 6 * SECOND)
    # From 6 to 8 s the mobile link is all there is.
    assert int(last["in_order_bytes"].sum()) * 8 / 2e6 == pytest.approx(MOBILE_MBPS * payload() / FRAME, rel=0.02)


def test_an_outage_of_one_path_does_not_end_the_flow_and_no_byte_is_lost(runs: Runs) -> None:
    run = runs(two_paths(flow("up", "mptcp", 'duration = "6s"'), duration="9s", tail=outage("6s")))
    read = reads(run)
    assert read.filter(pl.col("time_ns") > 4 * SECOND)["in_order_bytes"].sum() > 0
    (end,) = run.scan("mptcp").collect().to_dicts()
    assert end["reinjected_bytes"] > 0, "what the dead path held came over the other"
    assert read["in_order_bytes"].sum() == account(run, "up")["received_bytes"]


def test_without_mptcp_at_its_receiver_it_falls_back_and_says_so(tmp_path: Path) -> None:
    scenario = tmp_path / "paths.toml"
    scenario.write_text(two_paths(flow("up", "mptcp", 'receiver = "tcp"'), duration="3s"))
    answer = netwarp("run", scenario, "-o", tmp_path / "r", "--no-plots")
    assert answer.code == 0
    assert "flow up fell back to TCP, over one path: its receiver has only TCP" in answer.words
    run = only_run(tmp_path / "r")
    assert run.scan("mptcp").collect().row(0)[:3] == (0, True, None)
    tcp = WIFI_MBPS * 1448 / FRAME
    assert values(run, "up")["goodput_mbps"] == pytest.approx(tcp, rel=0.02)


def test_a_node_that_refuses_mptcp_is_named(tmp_path: Path) -> None:
    scenario = tmp_path / "paths.toml"
    refusing = 'h2 = { sysctl = { "net.mptcp.enabled" = "0" } }'
    scenario.write_text(two_paths(flow("up", "mptcp"), duration="3s", nodes=refusing))
    answer = netwarp("run", scenario, "-o", tmp_path / "r", "--no-plots")
    assert answer.code != 0
    assert "flow up: a socket of MPTCP, which" in answer.words
    assert "net.mptcp.enabled" in answer.words


def test_two_runs_have_the_same_bytes(tmp_path: Path) -> None:
    scenario = tmp_path / "paths.toml"
    scenario.write_text(two_paths(flow("up", "mptcp"), duration="4s", tail=outage("1s")))
    digests = []
    for name in ("one", "two"):
        assert netwarp("run", scenario, "-o", tmp_path / name, "--no-plots").code == 0
        run = only_run(tmp_path / name)
        digests.append({path.name: path.read_bytes() for path in sorted(run.path.glob("*.arrows"))})
    assert {"mptcp.arrows", "mptcp_reads.arrows"} <= digests[0].keys()
    assert digests[0] == digests[1]
