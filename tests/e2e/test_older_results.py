"""Results of older versions, kept in tests/samples, open in this one, with each command that reads results."""

from __future__ import annotations

import json
import re
import shutil
import tarfile
from pathlib import Path

import polars as pl
import pytest
from e2e_command import netwarp, succeed
from netwarp.common.archives import unpack
from polars.testing import assert_frame_equal

from tools.samples import MOST_BYTES, RESULTS, SAMPLES

ROOT = Path(__file__).parents[2]
VERSIONS = sorted(path.name.removesuffix(".tar.xz") for path in SAMPLES.glob("*.tar.xz"))
KEYS = ["run_id", "scope", "name", "metric"]


@pytest.fixture(params=VERSIONS)
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A directory with the results of a version."""
    with tarfile.open(SAMPLES / f"{request.param}.tar.xz") as archive:
        unpack(archive, tmp_path)
    return tmp_path


def test_each_release_has_small_results_that_name_no_machine() -> None:
    released = re.findall(r"^## \[(\d[^\]]*)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert set(released) <= set(VERSIONS), "keep those of the newest: python -m tools.samples"
    for version in VERSIONS:
        path = SAMPLES / f"{version}.tar.xz"
        assert path.stat().st_size <= MOST_BYTES
        with tarfile.open(path) as archive:
            for member in archive:
                file = archive.extractfile(member)
                assert file is None or str(ROOT).encode() not in file.read(), member.name


def test_every_command_that_reads_results_opens_them(kept: Path) -> None:
    for name in RESULTS:
        result = kept / name
        before = pl.read_parquet(result / "summary.parquet")
        succeed("plot", result, "--all", "--format", "svg")
        succeed("report", result, "--no-plots")
        assert (result / "report.html").stat().st_size > 10_000
        compared = succeed("compare", result, result)
        assert "B is identical to A" in compared.out
        assert "not the same for A and B" not in compared.out
        succeed("export", result, "--format", "csv,parquet", "-o", kept / f"{name}-exported")
        assert any((kept / f"{name}-exported").rglob("*.csv"))
        said = json.loads(succeed("report", result, "--no-plots", "--json").out)
        assert said, "its table"
        after = pl.read_parquet(result / "summary.parquet")
        common = before.join(after.select(*KEYS), on=KEYS, how="semi")
        assert len(common) > 0.9 * len(before), "metrics that have gone are few, and in the changelog"
        same = after.join(common.select(*KEYS), on=KEYS, how="semi")
        columns = [*KEYS, "value"]
        assert_frame_equal(common.select(columns).sort(KEYS), same.select(columns).sort(KEYS), rel_tol=1e-6)


def test_flows_have_figures_of_metrics_exports_and_a_first_difference(kept: Path) -> None:
    flows = kept / "flows"
    succeed("plot", flows, "--metric", "flow.goodput_mbps", "--format", "svg")
    assert any((flows / "plots").glob("*.svg"))
    axes = ("-a", "flows.bulk.cc=cubic", "-b", "flows.bulk.cc=bbr")
    assert "flows.bulk.cc cubic → bbr" in netwarp("compare", flows, flows, *axes).out
    succeed("export", flows, "--format", "flent,iperf3", "-o", kept / "others")
    by_control: dict[str, Path] = {}
    for run in sorted((flows / "runs").iterdir()):
        described = json.loads((run / "run.json").read_text())
        if described["seed"] == 1:
            by_control[described["point"]["flows.bulk.cc"]] = run
    assert "first" in succeed("explain", by_control["cubic"], by_control["bbr"]).out.lower()


def test_they_are_repeated_by_this_version_with_the_maker_named_if_it_is_another(kept: Path) -> None:
    for name in ("flows", "exec"):
        own = ("--read", "/") if name == "exec" else ("-o", kept / "again")
        done = netwarp("rerun", kept / name, "--json", *own)
        assert done.code in (0, 1), done.err
        found = json.loads(done.out)
        assert len(found["runs"]) == len(list((kept / name / "runs").iterdir()))
        assert bool(found["changed"]) == ("changed since the result was made" in done.words)
    for run in (kept / "again" / "runs").iterdir():
        lab = json.loads((run / "run.json").read_text())["lab"]
        assert not any(link["device"] for link in lab["links"]), "its links were netem's, when that was the default"
    assert netwarp("rerun", kept / "imported").code == 2, "measurements are not repeated"
    shutil.rmtree(kept / "exec")
