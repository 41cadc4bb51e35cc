"""The three-node study on three machines over SSH, as docs/ssh.md describes it to the study's author: the shipped
scenario and inventory, one of the study's conditions in full, and the study's scripts on the tree that is exported.

The condition has no delay: no kernel of these tests has a netem (docs/limitations.md).
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import polars as pl
import pytest
from e2e_command import Answer, finished, netwarp
from e2e_hosts import STUDY, Hosts, hosts, missing_programs
from e2e_study_scripts import parse_ifstat_kB, parse_ss_file, summarize_pcap_metrics
from netwarp.analysis.run.machine import machine_doubts
from netwarp.lab.build import BURST_NS
from netwarp.store.rundir import RunDir

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(
        os.geteuid() != 0 or bool(missing_programs()),
        reason=f"hosts in namespaces take root and {', '.join(missing_programs()) or 'nothing else'}",
    ),
]

CASE = "bw3Mbps_oneflow_pfifo"
MAX_MBPS = 3 * 1448 / 1514
TEST_NS = 15 * 10**9


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    with hosts(tmp_path_factory.mktemp("machines"), layout=STUDY) as found:
        yield found


@pytest.fixture(scope="module")
def study(made: Hosts) -> tuple[Answer, Path]:
    """The command of step 5, with the shipped inventory, and the place of a configuration for ssh added."""
    shipped = Path(str(resources.files("netwarp") / "studies/three_node/inventories/three-node.toml")).read_text()
    inventory = made.place / "three-node.toml"
    inventory.write_text('ssh_config = "ssh_config"\n' + shipped)
    before = made.listing()
    rows = ("--case", CASE, "--seeds", "1", "--report")
    answer = made.run("run", "three-node", "--engine", "ssh", "--inventory", inventory, *rows, "-o", made.place / "r")
    assert made.settled(before) == before
    return answer, made.place / "r"


def _only(result: Path) -> RunDir:
    (run_id,) = finished(result)
    return RunDir(result / "runs" / run_id)


def test_one_condition_of_the_study_runs_in_full(study: tuple[Answer, Path]) -> None:
    """Tests share their machine, which may have disturbed the run: then it is suspect, with the evidence."""
    answer, result = study
    run = _only(result)
    doubts = list(machine_doubts(run))
    status = run.status()
    assert status["status"] == ("suspect" if doubts else "ok"), (status, answer.err)
    described = json.loads((run.path / "run.json").read_text())
    assert (described["engine"], described["clock"]) == ("ssh", "real")
    assert {node: found["landlock"] >= 6 for node, found in status["confinement"].items()} == dict.fromkeys(
        STUDY.addresses, True
    )
    accounts = {row["name"]: row for row in run.scan("flows").collect().iter_rows(named=True)}
    received_mbit = accounts["tcp"]["received_bytes"] * 8e-6
    assert 7 * MAX_MBPS < received_mbit <= 17 * MAX_MBPS, "in 15 s and what its full queue takes to drain"
    assert 0 < accounts["udp"]["received_bytes"] < accounts["udp"]["sent_bytes"] / 10, "3 of 120 Mbit/s arrive"
    assert json.loads((run.path / "iperf3-tcp.json").read_text())["end"]["sum_received"]["bytes"] > 0


def test_all_three_machines_capture(study: tuple[Answer, Path]) -> None:
    captures = _only(study[1]).path / "captures"
    names = {"near-client.pcap", "far-bottleneck.pcap", "far-server.pcap"}
    assert {path.name for path in captures.iterdir()} == names
    answer = netwarp("pcap", captures / "far-bottleneck.pcap", "--json")
    assert answer.code == 0, answer.err
    packets = {flow["dport"]: flow["packets"] for flow in json.loads(answer.out)}
    assert packets[5001] > 1000


def test_its_tables_and_figures_are_those_of_virtual_time(study: tuple[Answer, Path]) -> None:
    _, result = study
    assert (result / "report.html").stat().st_size > 10_000
    folder = result / "three-node"
    (row,) = pl.read_csv(folder / "all_scenarios_summary.csv", infer_schema_length=None).iter_rows(named=True)
    assert row["scenario"] == CASE
    most = MAX_MBPS * (1 + BURST_NS / TEST_NS)  # the full bucket of a shaper in real time passes beside its rate
    assert 0.5 * MAX_MBPS < row["tcp_avg_bw_Mbps"] <= most
    assert 90 < row["udp_avg_lost_pct"] < 100
    (pcap,) = pl.read_csv(folder / "all_scenarios_pcap.csv", infer_schema_length=None).iter_rows(named=True)
    assert pcap["gap_avg_ms"] == pytest.approx(1514 * 8 / 3e3, rel=0.15), "a packet of 1514 bytes at 3 Mbit/s"
    assert pcap["ss_avg_rtt_ms"] > 100, "the queue holds a second"
    beside = pl.read_csv(folder / "published.csv", infer_schema_length=None).filter(scenario=CASE)
    assert beside.drop_nulls("ours").height > 5
    assert {path.name for path in folder.iterdir()} >= {"findings.md", "recommendations.md", "queues.csv", CASE}
    assert all((result / "plots" / f"{stem}.png").is_file() for stem in ("summary_plot", "pcap_plot"))


def test_the_studys_own_scripts_read_what_is_exported(study: tuple[Answer, Path], tmp_path: Path) -> None:
    answer = netwarp("export", study[1], "--format", "experiments", "-o", tmp_path)
    assert answer.code == 0, answer.err
    folder = tmp_path / "experiments" / CASE / f"{CASE}_run_1"
    assert {path.name for path in folder.iterdir()} >= {
        *("tcp.json", "udp.json", "client_iperf3.pcap", "bottleneck.pcap", "server.pcap"),
        *("ss_client.txt", "ss_server.txt", "iperf3_server.log"),
        *("ifstat_client_enp0s3.log", "ifstat_bottleneck_enp0s8.log", "ifstat_server_enp0s8.log"),
    }
    rtt_ms, window = parse_ss_file(str(folder / "ss_client.txt"))
    assert rtt_ms > 100 and window > 0
    _, out_kB = parse_ifstat_kB(str(folder / "ifstat_bottleneck_enp0s8.log"))
    assert 1.5 < out_kB * 8 / 1000 < 3.1
    for name in ("client_iperf3.pcap", "bottleneck.pcap", "server.pcap"):
        found = summarize_pcap_metrics(str(folder / name), "192.168.56.104", "192.168.214.104")
        assert found["ack_interval_avg_ms"] > 0, found
    imported = netwarp("import", tmp_path / "experiments", "-o", tmp_path / "back")
    assert imported.code == 0, imported.err
