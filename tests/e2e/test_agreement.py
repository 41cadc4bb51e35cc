"""`netwarp agree`: the same scenario on two engines, and the page that says by how much they differ."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest
from e2e_command import finished, netwarp, start, wait_for, wait_until_gone
from e2e_scenarios import dumbbell
from netwarp.store.run_status import RunStatus
from netwarp.store.status import read_status, write_status


def test_two_engines_are_compared_on_what_both_can_run(tmp_path: Path) -> None:
    scenario = tmp_path / "s.toml"
    scenario.write_text(dumbbell(duration="2s", name="small"))
    page = tmp_path / "agreement.md"
    answer = netwarp("agree", scenario, "--seeds", "2", "-o", tmp_path / "r", "--page", page)
    # Tests share their machine, which may have disturbed every run in real time; then there is nothing to compare.
    assert answer.code in (0, 3), answer.err
    text = page.read_text()
    assert "## small" in text
    described = []
    for engine in ("uml", "host"):
        runs = finished(tmp_path / "r" / f"small-{engine}")
        assert len(runs) == 2
        described += [json.loads((tmp_path / "r" / f"small-{engine}/runs/{run}/run.json").read_text()) for run in runs]
    # Equal except for the engine: the sampled tables, the interval, and the delay that a kernel without netem lacks.
    assert {run["lab"]["record"]["sample_ns"] for run in described} == {10_000_000}
    assert {run["lab"]["record"]["exact"] for run in described} == {False}
    assert len({run["lab"]["links"][1]["ends"][0]["wire"]["delay_ns"] for run in described}) == 1
    if answer.code == 0:
        assert "| flow.goodput_mbps of bulk |" in text
    else:
        assert "host: 2 of 2 runs suspect" in text
    again = netwarp("agree", scenario, "--seeds", "2", "-o", tmp_path / "r", "--page", page, "--json")
    assert again.code in (0, 3), again.err
    (told,) = json.loads(again.out)
    assert told["scenario"] == "small"
    assert told["comparison"] is not None or told["reasons"]
    # Finished runs are kept, and disturbed ones repeated.
    assert page.read_text() == text or "suspect" in text


def test_one_that_cannot_be_changed_does_not_stop_the_others(tmp_path: Path) -> None:
    small, cases = tmp_path / "small.toml", tmp_path / "cases.toml"
    small.write_text(dumbbell(duration="1s", name="small"))
    far = '[[cases]]\nname = "far"\n[cases.set]\n"links.bottleneck.delay" = "50ms"\n'
    cases.write_text(dumbbell(duration="1s", name="cases") + far)
    answer = netwarp("agree", cases, small, "--seeds", "1", "--set", "links.bottleneck.delay=0ms", "-o", tmp_path / "r")
    assert answer.code in (0, 3), answer.err
    assert "## cases\n\nWith `--set links.bottleneck.delay=0ms`.\n\nNot compared:" in answer.out
    assert "sets this as well" in answer.out
    assert len(finished(tmp_path / "r" / "small-uml")) == 1


def test_two_wires_are_compared_on_one_engine(tmp_path: Path) -> None:
    """A lone flow in a tail-drop queue has the same goodput on both; a link that sets its wire keeps it."""
    scenario = tmp_path / "s.toml"
    scenario.write_text(dumbbell(duration="1s", name="small"))
    words = ("--wires", "netem,device", "--seeds", "6", "--set", "links.access.wire=netem", "-o", tmp_path / "r")
    answer = netwarp("agree", scenario, *words, "--json")
    assert answer.code == 0, answer.err
    (told,) = json.loads(answer.out)
    verdicts = {(row["metric"], row["name"]): row["verdict"] for row in told["comparison"]["rows"]}
    assert verdicts["goodput_mbps", "bulk"] == "same"
    for wire in ("netem", "device"):
        (run, *_) = finished(tmp_path / "r" / f"small-{wire}")
        links = json.loads((tmp_path / "r" / f"small-{wire}/runs/{run}/run.json").read_text())["lab"]["links"]
        assert [link.get("device", False) for link in links] == [False, wire == "device"]


@pytest.mark.nightly
def test_a_disturbed_run_is_repeated_and_replaced(tmp_path: Path) -> None:
    scenario = tmp_path / "s.toml"
    scenario.write_text(dumbbell(duration="1s", name="small"))
    words = ("agree", scenario, "--seeds", "2", "-o", tmp_path / "r")
    assert netwarp(*words).code in (0, 3)
    # In virtual time nothing disturbs a run, so a disturbance is only pretended.
    disturbed, other = ((tmp_path / "r" / "small-uml" / "runs" / run) for run in finished(tmp_path / "r" / "small-uml"))
    write_status(disturbed, RunStatus.SUSPECT, "it was disturbed")
    kept = (other / "status.json").read_bytes()
    answer = netwarp(*words)
    assert answer.code in (0, 3), answer.err
    assert "uml: " not in answer.out.split("## small")[1].split("| metric |")[0]
    assert read_status(disturbed)["status"] == RunStatus.OK
    assert (other / "status.json").read_bytes() == kept


def test_an_interrupt_ends_it(tmp_path: Path) -> None:
    scenario = tmp_path / "s.toml"
    scenario.write_text(dumbbell(duration="100s", name="small"))
    process = start("agree", scenario, "--engines", "host,uml", "-o", tmp_path / "r")
    try:
        wait_for(tmp_path / "r", "small-host/runs/*/run.json")
        os.killpg(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130, err
    assert not (tmp_path / "r" / "small-uml").exists()
    assert wait_until_gone(tmp_path, 10) == []


def test_what_cannot_be_compared_is_said(tmp_path: Path) -> None:
    scenario = tmp_path / "s.toml"
    scenario.write_text(dumbbell(duration="1s", name="small"))
    answer = netwarp("agree", scenario, "--engines", "uml")
    assert answer.code == 2
    assert "does not name two engines" in answer.err
    lost = netwarp(
        "agree", scenario, "--set", 'links.bottleneck.queue="red limit 400000 min 30000 max 90000 avpkt 1500"'
    )
    if "sch_red" in lost.out:
        assert lost.code == 3
        assert "Not compared:" in lost.out
