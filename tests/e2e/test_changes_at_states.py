"""Changes that wait for a state of a flow, on the real kernel: they happen at the ACK that brings it."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from e2e_command import netwarp
from e2e_runs import Runs
from e2e_scenarios import BOTTLENECK, FRAME_BYTES, dumbbell
from netwarp.store.rundir import RunDir

DRAIN = 128
"""BBR's pacing gain is 739/256 in Startup, at least 192/256 in ProbeBW, and 88/256 in Drain."""


def bulk(cc: str, more: str = "") -> str:
    return f'[flows.bulk]\nfrom = "h1"\nto = "h2"\ntool = "bulk"\ncc = "{cc}"\n{more}'


def awaiting(when: str, *fields: str) -> str:
    return f'[[changes]]\nwhen = "{when}"\nlink = "bottleneck"\n' + "".join(f"{field}\n" for field in fields)


def first_ack_ns(run: RunDir, holds: pl.Expr, after_ns: int = -1) -> int:
    acks = run.scan("acks").filter(pl.col("time_ns") > after_ns).filter(holds).select(pl.col("time_ns").min()).collect()
    return int(acks.item())


def rate_bps(run: RunDir, start_ns: int, end_ns: int) -> float:
    """The rate at which frames left a queue that was not empty meanwhile."""
    left = (
        run.scan("packets")
        .filter((pl.col("interface_index") == BOTTLENECK) & pl.col("dequeue_ns").is_between(start_ns, end_ns))
        .select("dequeue_ns")
        .collect()["dequeue_ns"]
        .sort()
    )
    return float((len(left) - 1) * FRAME_BYTES * 8e9 / (left[-1] - left[0]))


def test_the_rate_falls_when_bbr_enters_drain(runs: Runs) -> None:
    text = dumbbell(
        flows=bulk("bbr"),
        duration="5s",
        tail=awaiting(f"bulk.bbr_pacing_gain < {DRAIN}", 'rate = { forward = "9mbit" }'),
    )
    run = runs(text)
    at_ns = first_ack_ns(run, pl.col("bbr_pacing_gain") < DRAIN)
    [change] = run.description.changes
    assert (change.at_ns, change.what) == (at_ns, "bottleneck: rate 10 → 9 Mbit/s")
    # Startup has filled the queue: frames leave back to back, before and after.
    ms = 10**6
    assert rate_bps(run, at_ns - 100 * ms, at_ns) == pytest.approx(10e6, rel=1e-3)
    assert rate_bps(run, at_ns + 2 * ms, at_ns + 30 * ms) == pytest.approx(9e6, rel=1e-3)


def test_changes_of_a_link_happen_one_after_another(runs: Runs) -> None:
    tail = awaiting("bulk.snd_cwnd_pkts >= 60", 'rate = { forward = "5mbit" }')
    tail += awaiting("bulk.ca_state == 3", 'rate = { forward = "8mbit" }')
    tail += awaiting("bulk.snd_cwnd_pkts >= 60", 'rate = { forward = "10mbit" }')
    run = runs(dumbbell(flows=bulk("reno"), duration="20s", queue="pfifo limit 40", tail=tail))
    large = pl.col("snd_cwnd_pkts") >= 60
    first = first_ack_ns(run, large)
    second = first_ack_ns(run, pl.col("ca_state") == 3, first)
    third = first_ack_ns(run, large, second)
    assert [change.at_ns for change in run.description.changes] == [first, second, third]
    # Utilisation is relative to the capacity of the link at the rates that it had.
    room_bits = (first * 10 + (second - first) * 5 + (third - second) * 8 + (20 * 10**9 - third) * 10) / 1000
    sent = run.scan("packets").filter((pl.col("interface_index") == BOTTLENECK) & pl.col("dequeue_ns").is_not_null())
    sent_bits = 8 * sent.select(pl.col("packet_bytes").sum()).collect().item()
    measured = run.metrics().filter(scope="link", name="bottleneck:r1", metric="utilisation")["value"].item()
    assert measured == pytest.approx(sent_bits / room_bits, rel=1e-3)


def test_a_variable_of_a_module_is_a_state(runs: Runs) -> None:
    text = dumbbell(
        flows=bulk("file:tcp_copa.c"),
        duration="5s",
        tail=awaiting("bulk.velocity >= 4", 'delay = { forward = "15ms" }'),
    )
    run = runs(text)
    numbers = run.scan("variables").filter(pl.col("name") == "velocity").collect()["variable_id"].to_list()
    states = run.scan("states").filter(pl.col("variable_id").is_in(numbers) & (pl.col("value") >= 4)).collect()
    [change] = run.description.changes
    assert change.at_ns == states["time_ns"].min()


def test_a_state_counts_from_its_time_on(runs: Runs) -> None:
    tail = awaiting("bulk.snd_cwnd_pkts >= 20", 'rate = { forward = "5mbit" }', 'at = "3s"')
    run = runs(dumbbell(flows=bulk("cubic"), duration="5s", tail=tail))
    [change] = run.description.changes
    assert change.at_ns == first_ack_ns(run, pl.col("snd_cwnd_pkts") >= 20, 3 * 10**9 - 1)
    assert change.at_ns >= 3 * 10**9


def test_a_state_that_never_comes_fails_the_run(tmp_path: Path) -> None:
    file = tmp_path / "never.toml"
    file.write_text(dumbbell(duration="2s", tail=awaiting("bulk.bbr_pacing_gain < 128", 'rate = "9mbit"')))
    answer = netwarp("run", file, "--no-plots", "-o", tmp_path / "result")
    assert answer.code == 3
    assert "changes.0 waited in vain for " in answer.words


def test_the_bytes_are_the_same(tmp_path: Path) -> None:
    file = tmp_path / "drain.toml"
    tail = awaiting("bulk.bbr_pacing_gain < 128", 'rate = "9mbit"')
    file.write_text(dumbbell(flows=bulk("bbr"), duration="3s", tail=tail))
    assert netwarp("run", file, "--no-plots", "-o", tmp_path / "result").code == 0
    again = netwarp("rerun", tmp_path / "result")
    assert again.code == 0, again.err
