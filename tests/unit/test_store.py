"""Run and result directories: reading of whole and broken files, writing, refusals."""

import errno
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pytest
from netwarp.analysis.run.run_metrics import compute_metrics, is_current
from netwarp.store import files
from netwarp.store.digests import compare_digests, digest_run, read_digests, write_digests
from netwarp.store.errors import PlanMismatchError, StoreError
from netwarp.store.making import new_directory
from netwarp.store.result import create_result, open_result
from netwarp.store.run_status import RunStatus
from netwarp.store.rundir import METRICS_SCHEMA, RunDir, open_run
from netwarp.store.schemas import TABLES
from netwarp.store.status import read_status, write_status
from netwarp.store.streams import StreamState, polars_schema
from netwarp.store.summary import axis_text, axis_title
from netwarp.values.json_values import Json
from synthetic import lab, write_description, write_result, write_run, write_table

PLAN: Any = {
    "name": "x",
    "axes": ["a.b.c"],
    "runs": [{"id": f"r{i}", "seed": 1, "point": {"a.b.c": i}} for i in (1, 2)],
}


def pings(count: int) -> list[dict[str, int]]:
    return [{"flow_id": 1, "sequence": i, "sent_ns": i * 1000} for i in range(count)]


def test_a_whole_stream(tmp_path: Path) -> None:
    write_table(tmp_path, "pings", pings(1000), batch_rows=100)
    run = RunDir(tmp_path)
    assert run.state("pings") is StreamState.COMPLETE
    assert run.scan("pings").collect()["sequence"].to_list() == list(range(1000))
    assert run.scan("pings").filter(pl.col("sequence") > 990).select("sent_ns").collect().height == 9
    assert run.scan("pings").head(150).collect().height == 150


def test_short_tables_that_a_run_holds_are_read_once_and_are_the_same(tmp_path: Path) -> None:
    path = write_table(tmp_path, "pings", pings(1000), batch_rows=100)
    plain, holding = RunDir(tmp_path), RunDir(tmp_path, holds=True)
    columns = ("sent_ns", "sequence")
    assert holding.scan("pings").collect().equals(plain.scan("pings").collect())
    path.unlink()
    assert holding.length("pings") == 1000
    assert holding.has_rows("pings")
    write_table(tmp_path, "pings", pings(1000), batch_rows=100)
    assert pl.concat(holding.batches("pings", columns)).equals(pl.concat(plain.batches("pings", columns)))
    assert RunDir(tmp_path, holds=True).scan("acks").collect().schema == polars_schema(TABLES["acks"])


def test_a_long_or_damaged_table_is_not_held(tmp_path: Path) -> None:
    numbers = Random(1)
    rows = [{"flow_id": 1, "sequence": i, "sent_ns": numbers.randrange(10**15)} for i in range(300_000)]
    path = write_table(tmp_path, "pings", rows)
    assert path.stat().st_size > 2 << 20
    holding = RunDir(tmp_path, holds=True)
    assert holding.length("pings") == 300_000
    path.unlink()
    assert holding.length("pings") == 0
    path.write_bytes(b"no stream at all")
    with pytest.raises(StoreError, match="not an Arrow stream"):
        RunDir(tmp_path, holds=True).scan("pings")


@pytest.mark.slow
def test_a_stream_cut_anywhere_is_read_to_its_last_whole_batch(tmp_path: Path) -> None:
    path = write_table(tmp_path, "pings", pings(1000), batch_rows=100)
    content = path.read_bytes()
    heights = []
    for size in range(0, len(content), 97):
        path.write_bytes(content[:size])
        heights.append(RunDir(tmp_path).scan("pings").collect().height)
        assert RunDir(tmp_path).state("pings") in (StreamState.EMPTY, StreamState.TRUNCATED)
    assert heights == sorted(heights)
    assert set(heights) >= set(range(0, 1000, 100))


@pytest.mark.parametrize("name", TABLES)
def test_missing_and_empty_files_have_no_rows(tmp_path: Path, name: str) -> None:
    run = RunDir(tmp_path)
    assert run.scan(name).collect().schema == polars_schema(TABLES[name])
    assert run.state(name) is StreamState.MISSING
    (tmp_path / TABLES[name].file).touch()
    assert run.scan(name).collect().height == 0
    assert run.state(name) is StreamState.EMPTY
    assert not run.has_rows(name)


def test_what_is_no_stream_is_refused_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "pings.arrows").write_text("time,value\n1,2\n")
    with pytest.raises(StoreError, match=r"pings\.arrows: it is not an Arrow stream"):
        RunDir(tmp_path).scan("pings").collect()


def test_other_types_and_missing_optional_columns(tmp_path: Path) -> None:
    old = pl.DataFrame({"flow_id": [1], "sequence": [2], "sent_ns": [3]})
    old.write_ipc_stream(tmp_path / "pings.arrows")
    assert RunDir(tmp_path).scan("pings").collect().rows() == [(1, 2, 3, None)]
    old.drop("sent_ns").write_ipc_stream(tmp_path / "pings.arrows")
    with pytest.raises(StoreError, match="no column sent_ns"):
        RunDir(tmp_path).scan("pings").collect()


def test_a_value_that_must_be_there(tmp_path: Path) -> None:
    holes = pl.DataFrame({"flow_id": [1, 1], "sequence": [2, None], "sent_ns": [3, 4]})
    holes.write_ipc_stream(tmp_path / "pings.arrows")
    assert RunDir(tmp_path).scan("pings").select("sent_ns").collect().height == 2
    with pytest.raises(StoreError, match=r"pings\.arrows: column sequence lacks a value in some row"):
        RunDir(tmp_path).scan("pings").collect()


def test_the_description_of_a_run(tmp_path: Path) -> None:
    change = {"at_ns": 10**9, "index": 13, "wire": {"rate_bps": 1_000_000}}
    unrelated = {"at_ns": 2 * 10**9, "index": 13, "wire": None}
    write_description(tmp_path, lab(5, 2) | {"changes": [change, unrelated]}, scenario={"name": "n", "warmup": "1.5s"})
    description = open_run(tmp_path).description
    assert description.warmup_ns == 1_500_000_000
    assert [flow.name for flow in description.flows] == ["bulk.0", "bulk.1", "ping"]
    rates = {end.name: end.rates for end in description.ends}["bottleneck:r1"]
    assert rates is not None
    assert [rate for _, rate in rates] == [10_000_000, 1_000_000]


def test_a_directory_without_a_description_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="is not a run directory"):
        open_run(tmp_path)
    (tmp_path / "run.json").write_text('{"id": "x", "lab": {}}')
    with pytest.raises(StoreError, match=r"lab\.duration_ns: Field required"):
        _ = open_run(tmp_path).description


def test_digests_of_the_same_run_are_the_same(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_run(tmp_path / name, seconds=1, id="same")
        (tmp_path / name / "status.json").write_text(name)
    digests = write_digests(tmp_path / "a")
    assert read_digests(tmp_path / "a") == digests
    assert "status.json" not in digests
    assert compare_digests(digests, digest_run(tmp_path / "b")) == []
    (tmp_path / "b" / "acks.arrows").write_bytes(b"")
    (tmp_path / "b" / "pings.arrows").unlink()
    differences = compare_digests(digests, digest_run(tmp_path / "b"))
    assert [str(d) for d in differences] == ["acks.arrows: changed", "pings.arrows: missing"]


def finish(directory: Path, status: RunStatus, value: float | None) -> None:
    run = RunDir(directory)
    run.write_status(status, None if status == RunStatus.OK else "because", seconds=1.0)
    if value is not None:
        rows = {"scope": ["flow"], "name": ["bulk"], "metric": ["goodput_mbps"], "value": [value]}
        run.write_metrics(pl.DataFrame(rows, schema=METRICS_SCHEMA))


def test_a_result_and_its_summary(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with create_result(tmp_path / "r", scenario_toml="x", plan=PLAN, manifest={"netwarp": "0"}) as result:
        with result.making("r1") as directory:
            finish(directory, RunStatus.OK, 9.5)
        with result.making("r2") as directory:
            finish(directory, RunStatus.FAILED, 0.0)
        result.write_summary()
    read = open_result(tmp_path / "r")
    columns = ["run_id", "seed", "status", "a.b.c", "scope", "name", "metric", "value"]
    assert read.summary().columns == columns
    assert read.summary().rows() == [
        ("r1", 1, "ok", 1, "flow", "bulk", "goodput_mbps", 9.5),
        ("r2", 1, "failed", 2, None, None, None, None),
    ]
    assert (tmp_path / "r" / "summary.csv").read_text().splitlines() == [
        ",".join(columns),
        "r1,1,ok,1,flow,bulk,goodput_mbps,9.5",
        "r2,1,failed,2,,,,",
    ]
    assert "run r2 failed, left out of the metrics: because" in caplog.text
    assert not list((tmp_path / "r").glob("**/*.tmp"))


def test_cases_are_a_column_before_the_axes(tmp_path: Path) -> None:
    plan: Any = {"axes": ["a.b.c"], "runs": [{"id": "r1", "seed": 1, "case": "slow", "point": {"a.b.c": [1, 2]}}]}
    with create_result(tmp_path, scenario_toml="", plan=plan, manifest={}) as result:
        assert result.axes == ["case", "a.b.c"]
        assert result.write_summary().row(0)[3:5] == ("slow", "[1, 2]")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (2.0, "2"),
        (1.1, "1.1"),
        (-3.0, "-3"),
        (1e300, "1e+300"),
        (True, "true"),
        ("2.0", "2.0"),
        (["a", 2.0], '["a", 2.0]'),
    ],
)
def test_values_of_axes_are_text(value: object, text: str) -> None:
    assert axis_text(value) == text


def test_a_run_that_dies_leaves_nothing(tmp_path: Path) -> None:
    with create_result(tmp_path, scenario_toml="", plan=PLAN, manifest={}) as result:
        with pytest.raises(RuntimeError), result.making("r1"):
            raise RuntimeError
        assert not result.is_complete("r1")
        assert list((tmp_path / "runs").iterdir()) == []


def test_a_result_is_resumed_with_its_plan_only(tmp_path: Path) -> None:
    for _ in range(2):
        with create_result(tmp_path, scenario_toml="", plan=PLAN, manifest={}):
            pass
    with (
        pytest.raises(PlanMismatchError, match="another plan"),
        create_result(tmp_path, scenario_toml="", plan=PLAN | {"name": "y"}, manifest={}),
    ):
        pass


def test_a_directory_with_other_things_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    with (
        pytest.raises(PlanMismatchError, match=r"thesis\.tex"),
        create_result(tmp_path, scenario_toml="", plan=PLAN, manifest={}),
    ):
        pass


def test_a_locked_result_is_refused(tmp_path: Path) -> None:
    with (
        create_result(tmp_path, scenario_toml="", plan=PLAN, manifest={}),
        pytest.raises(StoreError, match="in use by another netwarp"),
        create_result(tmp_path, scenario_toml="", plan=PLAN, manifest={}),
    ):
        pass


def test_errors_of_the_disk_are_sentences(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, content: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files, "_write_bytes", full)
    (tmp_path / "a.json").write_text("{}")
    with pytest.raises(StoreError, match=r"cannot write .*a\.json: the disk is full"):
        files.write_json(tmp_path / "a.json", {"a": 1})
    assert json.loads((tmp_path / "a.json").read_text()) == {}
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]
    (tmp_path / "file").touch()
    with (
        pytest.raises(StoreError, match=r"cannot create .*file"),
        create_result(tmp_path / "file", scenario_toml="", plan=PLAN, manifest={}),
    ):
        pass


def test_metrics_are_computed_again_only_if_something_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_run(tmp_path, limit=20, seconds=1)
    run = open_run(tmp_path)
    assert not is_current(run)
    compute_metrics(run)
    assert is_current(run)
    acks = tmp_path / "acks.arrows"
    later = run.metrics_path.stat().st_mtime_ns + 1
    os.utime(acks, ns=(later, later))
    assert not is_current(run)
    compute_metrics(run)
    os.utime(run.metrics_path, ns=(later, later))
    assert is_current(run)
    monkeypatch.setattr("netwarp.analysis.run.run_metrics.code_digest", lambda: "another")
    assert not is_current(run)
    run.metrics_path.write_bytes(b"PAR1 cut short")
    monkeypatch.undo()
    assert not is_current(run)


@pytest.mark.slow
def test_a_scan_over_many_runs_is_one_source(tmp_path: Path) -> None:
    """polars' plan of it does not grow with the runs; labels alone have a row for each of the table's."""
    plans = []
    for name, limits in (("few", (20, 40)), ("many", tuple(range(20, 60, 5)))):
        write_result(tmp_path / name, limits, seconds=0.2)
        scan = open_result(tmp_path / name).scan("acks")
        plans.append(len(re.findall(r"PYTHON SCAN|DF \[", scan.explain(optimized=False))))
        rows = scan.collect()
        assert rows["run_id"].unique(maintain_order=True).to_list() == [f"r{limit}" for limit in limits]
        assert scan.select("run_id", "seed").collect().equals(rows.select("run_id", "seed"))
        assert scan.filter(run_id="r40").collect().equals(rows.filter(run_id="r40"))
        assert scan.select("run_id").head(3).collect().height == 3
    assert plans == [1, 1]


def test_commands_of_one_second_get_a_directory_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`netwarp exec a; netwarp exec a` within a second: the second was refused as the result of another plan."""
    monkeypatch.chdir(tmp_path)
    with ThreadPoolExecutor(16) as pool:
        made = list(pool.map(lambda _: new_directory("exec-true"), range(64)))
    assert len(set(made)) == 64
    assert all(path.is_dir() and path.parent == Path("results") for path in made)


def test_a_command_that_wrote_nothing_leaves_no_directory(tmp_path: Path) -> None:
    code = "from netwarp.store.making import new_directory as new; (new('a') / 'x').touch() if FULL else new('a')"
    for full in (False, True):
        subprocess.run([sys.executable, "-c", code.replace("FULL", str(full))], cwd=tmp_path, check=True)
        assert (tmp_path / "results").exists() == full


def test_the_title_of_an_axis_says_what_varies() -> None:
    assert axis_title("links.bottleneck.queue") == "bottleneck queue"
    assert axis_title("changes.0.rate") == "changes 0 rate"
    assert axis_title("seeds") == "seeds"


def test_a_status_is_read_once_for_each_state_of_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Path] = []

    def noted(path: Path) -> dict[str, Json]:
        read.append(path)
        return files.read_json(path)

    monkeypatch.setattr("netwarp.store.status.read_json", noted)
    write_status(tmp_path, RunStatus.OK, None, seconds=1.0)
    read_status(tmp_path)["reason"] = "of this caller alone"
    assert [read_status(tmp_path).get("reason") for _ in range(3)] == [None] * 3
    assert len(read) == 1
    write_status(tmp_path, RunStatus.FAILED, "because", seconds=1.0)
    assert read_status(tmp_path).get("reason") == "because"
    # Another program replaces the file.
    (tmp_path / "new").write_text('{"status": "suspect", "reason": "why", "seconds": 2.0}')
    (tmp_path / "new").replace(tmp_path / "status.json")
    assert (read_status(tmp_path)["status"], len(read)) == (RunStatus.SUSPECT, 3)
    (tmp_path / "status.json").unlink()
    with pytest.raises(StoreError, match=r"status\.json"):
        read_status(tmp_path)
