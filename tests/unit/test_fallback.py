"""Flows with DCTCP whose connection was made without ECN, so that they ran with Reno under a separate name."""

from __future__ import annotations

from pathlib import Path

import pytest
from netwarp.analysis.flow.senders import flows_with_control
from netwarp.analysis.run.validity import judge
from netwarp.store.rundir import RunDir
from netwarp.store.schemas import TABLES
from netwarp.store.streams import write_stream
from synthetic import write_run


def with_controls(run: RunDir, controls: dict[int, str]) -> None:
    """Give the sockets of flows, by their ids, another congestion control in the second half of the run."""
    rows = run.scan("sockets").collect().to_dicts()
    middle = rows[len(rows) // 2]["time_ns"]
    for row in rows:
        row["congestion_control"] = "cubic"
        if (flow_id := row["source_port"] - 20_000) in controls and row["time_ns"] > middle:
            row["congestion_control"] = controls[flow_id]
    write_stream(run.path / TABLES["sockets"].file, TABLES["sockets"], rows)


@pytest.mark.parametrize("controls", [{}, {0: "dctcp"}, {1: "dctcp-reno"}, {0: "dctcp-reno", 1: "dctcp-reno"}])
def test_a_control_is_found_in_any_sample_of_a_flow(controls: dict[int, str], tmp_path: Path) -> None:
    write_run(tmp_path, flows=2)
    run = RunDir(tmp_path)
    fallen = {flow_id for flow_id, control in controls.items() if control == "dctcp-reno"}
    with_controls(run, controls)
    assert flows_with_control(run, "dctcp-reno") == fallen
    reasons = " ".join(judge(run).reasons)
    assert [flow.name for flow in run.description.flows if f"{flow.name} ran with dctcp-reno" in reasons] == [
        flow.name for flow in run.description.flows if flow.id in fallen
    ]
