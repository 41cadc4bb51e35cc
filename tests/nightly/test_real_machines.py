"""The engine ssh on three machines in real time: rows of the study whose queues and wires no other test has on real
interfaces, RED, and fq_codel before delay, jitter and loss (docs/ssh.md)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from netwarp.analysis.run.machine import machine_doubts
from netwarp.kernels.build import build
from netwarp.store.result import open_result
from netwarp.store.run_status import RunStatus

from bench.real_machines import KERNEL, missing
from bench.real_study import SCENARIO, real, slower

RED, IMPAIRED = "bw3Mbps_oneflow_RED", "bw3+impairments_10_cubic_fq"
MAX_MBPS = 3 * 1448 / 1514


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The result of two rows."""
    build(name=KERNEL, config=(KERNEL,))
    if reason := missing():
        pytest.skip(reason)
    place = tmp_path_factory.mktemp("real")
    (place / SCENARIO).write_text(slower())
    load = real(place, ["--case", RED, "--case", IMPAIRED, "--seeds", "1"])
    assert load.rows, "the host's load was sampled"
    yield place / "real"


def row(study: Path, table: str, name: str) -> dict[str, float]:
    """The values of a row of the study in one of its tables."""
    found = pl.read_csv(study / "three-node" / f"{table}.csv", infer_schema_length=None).filter(scenario=name)
    return found.row(0, named=True)


def test_the_rows_run_and_are_suspect_only_for_the_machines_load(study: Path) -> None:
    result = open_result(study)
    for planned in result.planned:
        run = result.run(planned.id)
        doubts = list(machine_doubts(run))
        status = run.status()
        assert status["status"] == (RunStatus.SUSPECT if doubts else RunStatus.OK), status
        assert {node: found["landlock"] for node, found in status["confinement"].items()} == dict.fromkeys(
            ("client", "bottleneck", "server"), 6
        )


def test_red_keeps_the_queue_short_on_real_interfaces(study: Path) -> None:
    values = row(study, "all_scenarios_summary", RED)
    assert 0.5 * MAX_MBPS < values["tcp_avg_bw_Mbps"] < 1.05 * MAX_MBPS
    assert values["tcp_avg_retrans"] > 0, "RED drops early"
    assert row(study, "all_scenarios_pcap", RED)["ss_avg_rtt_ms"] < 200, "pfifo's is a second"
    queues = pl.read_csv(study / "three-node" / "queues.csv").filter(pl.col("scenario") == RED)
    assert "red" in queues["qdisc"].to_list()


def test_netem_delays_and_loses_what_arrives(study: Path) -> None:
    """100 ms one way, 0.5 % lost: the RTT is not shorter, and something is sent again."""
    values = row(study, "all_scenarios_pcap", IMPAIRED)
    assert 100 < values["ss_avg_rtt_ms"] < 400
    assert row(study, "all_scenarios_summary", IMPAIRED)["tcp_avg_retrans"] > 0
