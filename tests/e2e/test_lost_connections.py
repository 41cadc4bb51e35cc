"""A connection that TCP gives up during a run is named, one that only waits is not."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from e2e_command import netwarp
from e2e_runs import only_run
from e2e_scenarios import BULK, dumbbell
from netwarp.values.constants import NS_PER_S

OUTAGE = """
[[changes]]
at = "5s"
link = "bottleneck"
loss = "100%"
[[changes]]
at = "15s"
link = "bottleneck"
loss = "0%"
"""


@pytest.mark.parametrize(("retries", "lost"), [(3, True), (15, False)])
def test_a_connection_that_tcp_gave_up_is_named(retries: int, lost: bool, tmp_path: Path) -> None:
    """After three retransmissions it is gone in some seconds; after fifteen it would be in a quarter of an hour
    (tcp(7), tcp_retries2)."""
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(dumbbell(duration="30s", flows=BULK, tail=OUTAGE))
    setting = f'nodes.h1.sysctl={{"net.ipv4.tcp_retries2"={retries}}}'
    answer = netwarp("run", scenario, "--no-plots", "--set", setting, "-o", tmp_path / "result")
    assert answer.code == 0, answer.err
    run = only_run(tmp_path / "result")
    notes = run.status().get("notes") or []
    assert isinstance(notes, list)
    assert [note for note in notes if "flow bulk lost its connection between 10s and 11s" in str(note)] == notes
    assert len(notes) == lost
    assert run.scan("acks").filter(pl.col("time_ns") > 15 * NS_PER_S).collect().is_empty() == lost
