"""`keep`: whatever a run keeps of its records, its metrics, ids, digests and reruns are the same."""

import json
from pathlib import Path

import polars as pl
import pytest
from e2e_command import digests, finished, netwarp, succeed, write_scenario
from netwarp.store.schemas import EXACT, TABLES
from polars.testing import assert_frame_equal

FILES = {table.file for table in TABLES.values()}
EXACT_FILES = {table.file for table in EXACT}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A scenario with a capture, and its results with each choice."""
    place = tmp_path_factory.mktemp("keep")
    scenario = write_scenario(place / "s.toml")
    capture = 'record.captures=[{ at = "bottleneck:r1" }]'
    for keep in ("records", "series", "summary"):
        more = ("--set", "duration=3s", "--set", capture, "--set", f"record.keep={keep}")
        succeed("run", scenario, "-o", place / keep, "--no-plots", *more)
    return place


def tables(result: Path) -> set[str]:
    """The tables of each run, which are the same for all."""
    (found,) = {frozenset(path.name for path in run.glob("*.arrows")) for run in (result / "runs").iterdir()}
    return set(found)


def test_tables_go_and_nothing_else(results: Path) -> None:
    whole = tables(results / "records")
    assert whole > EXACT_FILES - {
        *("states.arrows", "quic_acks.arrows", "quic_arrivals.arrows", "mptcp_reads.arrows", "pages.arrows"),
        "objects.arrows",
    }
    assert tables(results / "series") == whole - EXACT_FILES
    assert tables(results / "summary") == set()
    for keep in ("series", "summary"):
        assert finished(results / keep) == finished(results / "records"), "the same ids"
        assert digests(results / keep) == digests(results / "records"), "of files that are gone, too"
        for run in (results / keep / "runs").iterdir():
            whole_run = results / "records" / "runs" / run.name
            left = {path.name for path in run.iterdir()} - FILES
            assert left == {path.name for path in whole_run.iterdir()} - FILES
            assert (run / "captures" / "bottleneck-r1.pcap").is_file()
            assert_frame_equal(pl.read_parquet(run / "metrics.parquet"), pl.read_parquet(whole_run / "metrics.parquet"))
            assert json.loads((run / "status.json").read_text())["keep"] == keep


@pytest.mark.parametrize("keep", ["series", "summary"])
def test_a_rerun_compares_what_is_gone(results: Path, keep: str, tmp_path: Path) -> None:
    assert "2 of 2 runs are identical" in succeed("rerun", results / keep).out
    changed = finished(results / keep)[0]
    file = results / keep / "runs" / changed / "digests.json"
    content = file.read_text()
    try:
        file.write_text(json.dumps(json.loads(content) | {"packets.arrows": "0" * 64}))
        done = netwarp("rerun", results / keep, "--json")
    finally:
        file.write_text(content)
    assert done.code == 1
    differing = {run["id"]: run["differences"] for run in json.loads(done.out)["runs"]}
    assert differing[changed] == [{"file": "packets.arrows", "kind": "changed"}]


def test_commands_say_what_is_absent(results: Path) -> None:
    for keep, words in (("series", "every run kept samples"), ("summary", "every run kept metrics and no records")):
        result = results / keep
        for command in ("plot", "report", "export"):
            more = ("--format", "csv") if command == "export" else ()
            assert words in succeed(command, result, *more).words, command
        page = (result / "report.html").read_text()
        assert words in page
        assert "B is identical to A" in succeed("compare", results / "records", result).out
        refused = netwarp("explain", results / "records", result)
        assert refused.code == 2
        assert f'did not keep its exact records (record.keep = "{keep}")' in refused.words
    drawn = succeed("plot", results / "series", "cwnd-bulk").out
    assert "cwnd-bulk.svg" in drawn, "from samples"
    refused = netwarp("plot", results / "summary", "cwnd-bulk")
    assert refused.code == 2
    assert 'there is no figure "cwnd-bulk"' in refused.words
    assert "; every run kept metrics and no records" in refused.words
    every = succeed("plot", results / "summary", "--all", "-o", results / "plots")
    assert "no run that a figure over time can show; without --all, its figures of metrics are drawn" in every.words


def test_advice_about_what_is_absent_names_what_was_kept(results: Path, tmp_path: Path) -> None:
    for keep, words in (("series", "every run kept samples"), ("summary", "every run kept metrics and no records")):
        refused = netwarp("plot", results / keep, "--metric", "queue.sojourn_ms", "-o", tmp_path)
        assert refused.code == 2
        assert f"have no queue.sojourn_ms; {words}" in refused.words
        assert "exact = true" not in refused.words, "it was"
    for format_ in ("flent", "iperf3"):
        refused = netwarp("export", results / "summary", "--format", format_, "-o", tmp_path)
        assert refused.code != 0
        assert "has no records of a TCP flow" in refused.words
        assert "; every run kept metrics and no records" in refused.words


def test_metrics_that_cannot_be_computed_again_stay(results: Path) -> None:
    result = results / "summary"
    run = result / "runs" / finished(result)[0]
    metrics = run / "metrics.parquet"
    content = metrics.read_bytes()
    try:
        pl.read_parquet(metrics).write_parquet(metrics)  # as if another version had computed them
        other = metrics.read_bytes()
        succeed("report", result, "--no-plots")
        assert metrics.read_bytes() == other
        metrics.unlink()
        refused = netwarp("report", result, "--no-plots")
    finally:
        metrics.write_bytes(content)
    assert refused.code == 4
    assert 'no longer the records that they are computed from (record.keep = "summary")' in refused.words


def test_a_run_that_fails_keeps_its_records(tmp_path: Path) -> None:
    scenario = write_scenario(tmp_path / "s.toml", ["pfifo limit 20"])
    with scenario.open("a") as file:
        file.write('[flows.prog]\nfrom = "h1"\nto = "h2"\ntool = "command"\nclient = ["false"]\n')
    done = netwarp("run", scenario, "-o", tmp_path / "r", "--no-plots", "--set", "record.keep=summary")
    assert done.code == 3
    assert tables(tmp_path / "r") > {"packets.arrows", "flows.arrows"}


def test_views_need_records(tmp_path: Path) -> None:
    done = netwarp("run", "red-law", "-o", tmp_path / "r", "--set", "record.keep=summary")
    assert done.code == 2
    assert 'views are made from records: use "records"' in done.words
