"""Linux 6.1 as well as 6.12: it is built, gives a link's calculated values, and passes netwarp's tests."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from netwarp.kernels import Kernel
from netwarp.kernels.build import build
from netwarp.store.result import open_result
from netwarp.store.run_status import RunStatus
from nightly_command import netwarp

OLD = "linux-6.1"
UNNAMED = "what_remains_of_a_closed_connection or what_checksums_drop"
"""Drops with a reason in 6.12 for which 6.1 has none (SKB_DROP_REASON_NOT_SPECIFIED)."""
E2E = Path(__file__).parent.parent / "e2e"


@pytest.fixture(scope="module", autouse=True)
def old() -> Kernel:
    return build(name=OLD, series="6.1")


def test_two_series_in_one_sweep(tmp_path: Path, old: Kernel) -> None:
    queue = "links.bottleneck.queue=pfifo limit 100"
    done = netwarp("run", "bufferbloat", "--set", queue, "--sweep", f"kernel={OLD},stock", "-o", tmp_path / "r")
    assert done.returncode == 0, done.stderr
    result = open_result(tmp_path / "r")
    assert {run.point["kernel"] for run in result.planned} == {OLD, "stock"}
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
    release = netwarp("exec", "--kernel", OLD, "-o", tmp_path / "e", "--", "uname", "-r")
    assert release.stdout.strip() == old.version
    assert old.version.startswith("6.1.")


@pytest.mark.parametrize("name", ["drops", "kills", "time", "segments", "modules", "theory_labs", "chance"])
def test_the_tests_of_netwarp_hold_on_it(name: str) -> None:
    file = next(E2E.rglob(f"test_{name}.py"))
    command = [sys.executable, "-m", "pytest", str(file), "--kernel", OLD, "-p", "no:cacheprovider"]
    command += ["-k", f"not ({UNNAMED})"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
