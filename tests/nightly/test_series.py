"""Linux 6.1 and 7.2 as well as 6.12: they are built, give a link's calculated values, and pass netwarp's tests."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from e2e_scenarios import dumbbell
from netwarp.kernels import Kernel
from netwarp.kernels.build import build
from netwarp.kernels.recipe import DEFAULT_SERIES, known_series
from netwarp.modules.named import shipped_modules
from netwarp.store.result import open_result
from netwarp.store.run_status import RunStatus
from nightly_command import netwarp

OTHERS = [series for series in known_series() if series != DEFAULT_SERIES]
UNNAMED = {"6.1": "what_remains_of_a_closed_connection or what_checksums_drop"}
"""Drops with a reason in 6.12 for which a series has none (SKB_DROP_REASON_NOT_SPECIFIED)."""
MOVED = {"7.2": ["flow.cwnd_pkts_first_peak of bulk, flows.bulk.cc = reno"]}
"""Expectations of bufferbloat that hold on 6.12 alone (docs/kernel-6.12-7.2.md says why)."""
TESTS = ["divided_runs", "drops", "kills", "time", "segments", "modules", "theory_labs", "chance"]
TESTS += ["devices", "device_changes", "device_chance", "device_plans", "device_rings", "device_traces"]
NEWER = ["exec_waiting", "exec_clock", "exec_programs", "exec_memory"]
"""Tests of programs that run in the stub, which 6.1 has not."""
E2E = Path(__file__).parent.parent / "e2e"


@pytest.fixture(scope="module", params=OTHERS)
def other(request: pytest.FixtureRequest) -> Kernel:
    series = str(request.param)
    return build(name=f"linux-{series}", series=series)


def test_two_series_in_one_sweep(tmp_path: Path, other: Kernel) -> None:
    queue = "links.bottleneck.queue=pfifo limit 100"
    kernel = f"linux-{other.series}"
    done = netwarp("run", "bufferbloat", "--set", queue, "--sweep", f"kernel={kernel},stock", "-o", tmp_path / "r")
    failed = [line for line in done.stdout.splitlines() if line.startswith("✗")]
    moved = MOVED.get(other.series, [])
    assert done.returncode == (1 if moved else 0), done.stderr
    assert [line.split(", links.")[0].removeprefix("✗ ") for line in failed] == moved
    result = open_result(tmp_path / "r")
    assert {run.point["kernel"] for run in result.planned} == {kernel, "stock"}
    for run in result.planned:
        made = result.run(run.id)
        assert made.status()["status"] == RunStatus.OK, made.status()
    metrics = result.summary().filter(name="bulk")
    goodput = metrics.filter(metric="goodput_mbps")["value"]
    assert goodput.len() == 4
    # 10 Mbit/s less the headers of a frame, which both fill
    assert goodput.to_list() == pytest.approx([10 * 1448 / 1514] * 4, rel=0.002)
    # The scenario's own figures do not show the kernel, which the command line varies.
    for stem in ("cwnd-bulk--pfifo-limit-100-cubic", "flow.rtt_ms_p95-bulk-by-bulk-cc-by-kernel-bar"):
        assert (tmp_path / "r" / "plots" / f"{stem}.png").exists(), "one figure for both kernels"
    release = netwarp("exec", "--kernel", kernel, "-o", tmp_path / "e", "--", "uname", "-r")
    assert release.stdout.strip() == other.version
    assert other.version.startswith(f"{other.series}.")


def test_the_gallery_runs_on_it(tmp_path: Path, other: Kernel) -> None:
    """Each control, and DualPI2: netwarp's where the series lacks it, which Linux 6.17 was the first to have."""
    kernel, scenario = f"linux-{other.series}", tmp_path / "s.toml"
    scenario.write_text(dumbbell(duration="2s"))
    for name in shipped_modules():
        if name.startswith("tcp_"):
            done = netwarp(
                "run", scenario, "--kernel", kernel, "--set", f'flows.bulk.cc="file:{name}"', "-o", tmp_path / name
            )
            assert done.returncode == 0, done.stderr
    module, queue = 'modules=["sch_dualpi2.c"]', 'links.bottleneck.queue="dualpi2"'
    done = netwarp("run", scenario, "--kernel", kernel, "--set", module, "--set", queue, "-o", tmp_path / "queue")
    assert done.returncode == 0, done.stderr
    assert ('has its own "dualpi2"' in done.stderr) == (other.series == "7.2")


def test_the_validation_holds_on_it(tmp_path: Path, other: Kernel) -> None:
    done = netwarp("verify", "--kernel", f"linux-{other.series}", "-o", tmp_path / "out")
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("name", [*TESTS, *NEWER])
def test_the_tests_of_netwarp_hold_on_it(name: str, other: Kernel) -> None:
    if other.series == "6.1" and name in NEWER:
        pytest.skip("programs run by ptrace there")
    file = next(E2E.rglob(f"test_{name}.py"))
    command = [sys.executable, "-m", "pytest", str(file), "--kernel", f"linux-{other.series}", "-p", "no:cacheprovider"]
    if unnamed := UNNAMED.get(other.series):
        command += ["-k", f"not ({unnamed})"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
