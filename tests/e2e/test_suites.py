"""`netwarp suite` on the real kernel: what harms is found, what does not is not; the numbers are the records'."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median
from xml.etree import ElementTree

import polars as pl
import pytest
from e2e_command import netwarp
from netwarp.analysis.tuples import flow_of_tuples
from netwarp.cli.common import FAILED_EXPECTATION, OK, USAGE
from netwarp.store.result import open_result
from netwarp.store.rundir import RunDir

STUBBORN = "file:tcp_template.c window=150"
"""A window that does not change, whatever is lost: four BDP and the buffer of these cases."""


def _bytes(run: RunDir, name: str) -> int:
    """The payload of a flow that arrived after the warm-up of 10 s."""
    number = next(one.id for one in run.description.flows if one.name == name)
    own = [
        at for at, flow in flow_of_tuples(run.scan("tuples").collect(), run.description.flows).items() if flow == number
    ]
    chosen = pl.col("tuple_id").is_in(own) & (pl.col("time_ns") >= run.description.warmup_ns)
    return int(run.scan("arrivals").filter(chosen).select(pl.col("new_bytes").sum()).collect().item())


def test_what_ignores_losses_harms_and_cubic_does_not(tmp_path: Path) -> None:
    options = ("--cases", "latecomer,media", "--seeds", "2", "-o", "out", "--keep", "--json", "--junit", "out.xml")
    done = netwarp("suite", "cc", "--cc", "cubic", "--cc", STUBBORN, *options, cwd=tmp_path)
    assert done.code == FAILED_EXPECTATION, done.words
    rows = {row["of"] and row["metric"]: row for row in json.loads(done.out)["measures"]}
    goodput = rows["flow.harm_goodput"]
    found = {one["name"]: one for one in goodput["subjects"]}
    assert {name: one["verdict"] for name, one in found.items()} == {
        "cubic": "passes",
        "template": "harms",
        "bbr": "harms",
    }
    assert median(found["template"]["values"]) > 0.8
    # The same from the records alone: what arrived at CUBIC's receiver, alone and beside the other.
    result = open_result(tmp_path / "out/latecomer")
    carried = {(str(run.point["case"]), run.seed): _bytes(result.run(run.id), "cubic") for run in result.planned}
    for name, one in found.items():
        own = [1 - carried[name, seed] / carried["alone", seed] for seed in (1, 2)]
        assert one["values"] == pytest.approx(own, abs=0.001), name
    assert goodput["limit"] == pytest.approx(max(found["cubic"]["values"]) + 0.05)
    page = (tmp_path / "out/suite.md").read_text()
    assert page.index("harms others more than cubic does") < page.index("## All measures")
    assert (tmp_path / "out/suite.svg").stat().st_size > 1000
    failures = [
        case.get("name")
        for case in ElementTree.parse(tmp_path / "out.xml").iter("testcase")
        if case.find("failure") is not None
    ]
    assert failures and all(str(name).startswith("latecomer") for name in failures)


@pytest.mark.nightly
def test_a_longer_queue_is_a_concern_and_codel_is_not(tmp_path: Path) -> None:
    options = ("--cases", "friendly", "--seeds", "2", "-o", "out", "--json")
    done = netwarp("suite", "aqm", "--queue", "codel", "--queue", "pfifo limit 8BDP", *options, cwd=tmp_path)
    assert done.code == FAILED_EXPECTATION, done.words
    delays = next(row for row in json.loads(done.out)["measures"] if row["metric"] == "queue.sojourn_ms_p95")
    assert {one["name"]: one["verdict"] for one in delays["subjects"]} == {
        "codel": "better",
        "pfifo limit 8BDP": "concern",
        "pfifo limit 2BDP": "passes",
        "fq_codel": "better",
    }
    assert not (tmp_path / "out/friendly").exists(), "records are kept only if the user asks for them"
    again = netwarp("run", "out/friendly.toml", "--case", "codel", "--no-plots", "-o", "again", cwd=tmp_path)
    assert again.code == OK, again.words
    assert [run.seed for run in open_result(tmp_path / "again").planned] == [1, 2], "the seeds of the suite"
    other = netwarp("suite", "aqm", "--queue", "codel", "--cases", "bursts", "-o", "out", cwd=tmp_path)
    assert other.code == USAGE and "out holds another result" in other.words, other.words


@pytest.mark.nightly
def test_a_short_queue_helps_a_call_beside_a_download(tmp_path: Path) -> None:
    options = ("--cases", "long-tcp,pause", "--seeds", "1", "-o", "out", "--json")
    done = netwarp("suite", "media", "--queue", "pie", *options, cwd=tmp_path)
    assert done.code in (OK, FAILED_EXPECTATION), done.words
    rows = {
        (row["case"], row["metric"]): {one["name"]: one for one in row["subjects"]}
        for row in json.loads(done.out)["measures"]
    }
    assert rows["long-tcp", "flow.delay_ms_p95"]["pie"]["verdict"] == "better"
    assert rows["pause", "flow.media_rate_mbps_mean"]["pie"]["verdict"] in ("passes", "better")


def test_wrong_subjects(tmp_path: Path) -> None:
    (tmp_path / "bad.c").write_text(
        'static struct tcp_congestion_ops x = { .name = "bad" };\n'
        "int f(void) { tcp_register_congestion_control(&x); }\n"
    )
    for words, said in (
        (("cc", "--cc", "cubik"), 'error: --cc "cubik": the kernel'),
        (("cc", "--cc", "file:./bad.c"), f'error: --cc "file:{tmp_path}/bad.c" cannot be tested'),
        (("aqm", "--queue", "pie taget 15ms"), 'error: --queue "pie taget 15ms" cannot be tested: node r1: tc refused'),
    ):
        done = netwarp(
            "suite", *words, "--cases", "bursts" if words[0] == "aqm" else "short-beside", "--seeds", "1", cwd=tmp_path
        )
        assert done.code == USAGE and said in done.words, done.words
        assert "Traceback" not in done.err
