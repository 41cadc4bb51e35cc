"""A bug of netwarp in one run's analysis: that run fails with the reason, and the study continues."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from netwarp.analysis.run.faults import LOG, FaultError, contained
from netwarp.analysis.run.run_metrics import compute_metrics
from netwarp.common.scratch import RUNS, clean_stale, scratch
from netwarp.engines import Outcome
from netwarp.execute import conclusion
from netwarp.steps import evaluation
from netwarp.store.errors import StoreError
from netwarp.store.result import ResultDir
from netwarp.store.run_status import RunStatus
from netwarp.store.rundir import RunDir
from synthetic import write_run


def faulty(_run: object) -> None:
    raise KeyError("nobody thought of this")


def test_a_fault_fails_the_run_that_it_is_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_run(tmp_path)
    monkeypatch.setattr(conclusion, "compute_metrics", faulty)
    outcome = conclusion._analysed(RunDir(tmp_path), Outcome(RunStatus.OK, None, {}))
    assert outcome.status == "failed"
    assert str(outcome.reason).startswith("internal error while it was analysed: KeyError: 'nobody thought of this'")
    assert "Traceback" in (tmp_path / LOG).read_text()


def test_what_is_foreseen_is_no_fault(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="the disk"), contained(tmp_path, StoreError):
        raise StoreError("the disk is full")
    with pytest.raises(FaultError, match="not enough memory"), contained(tmp_path, StoreError):
        raise MemoryError
    assert not (tmp_path / LOG).exists()
    with pytest.raises(KeyboardInterrupt), contained(tmp_path, StoreError):
        raise KeyboardInterrupt


def test_a_panic_of_a_library_is_a_fault(tmp_path: Path) -> None:
    with pytest.raises(FaultError, match="PanicException"), contained(tmp_path, StoreError):
        raise pl.exceptions.PanicException("at the disco")


def test_a_run_that_a_fault_failed_comes_back_without_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = {"name": "n", "axes": [], "runs": [{"id": name, "seed": 1, "point": {}} for name in ("aa", "bb")]}
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    for name in ("aa", "bb"):
        run = tmp_path / "runs" / name
        run.mkdir(parents=True)
        write_run(run)
        RunDir(run).write_status(RunStatus.SUSPECT, "a reason", real_s=1.5)
        (run / "metrics.parquet").unlink(missing_ok=True)
    result = ResultDir(tmp_path)

    def faulty_in_one(run: RunDir) -> None:
        if run.path.name == "aa":
            faulty(run)
        compute_metrics(run)

    monkeypatch.setattr(evaluation, "compute_metrics", faulty_in_one)
    for name in ("aa", "bb"):
        evaluation._compute_metrics(result, name)
    assert [outcome.status for outcome in result.outcomes()] == ["failed", "suspect"]
    assert "internal error" in str(result.run("aa").status()["reason"])
    monkeypatch.setattr(evaluation, "compute_metrics", compute_metrics)
    evaluation._compute_metrics(result, "aa")
    assert result.run("aa").status() == {"status": "suspect", "reason": "a reason", "real_s": 1.5}
    assert [outcome.status for outcome in result.outcomes()] == ["suspect", "suspect"]


def test_what_a_killed_process_left_is_known_and_what_lives_is_not_touched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    left = tmp_path / f"{RUNS}left"
    left.mkdir()
    (tmp_path / f"{RUNS}link").symlink_to(tmp_path)
    with scratch(RUNS) as living:
        (living / "file").touch()
        assert clean_stale([(tmp_path, RUNS)]) == [left]
        assert (living / "file").exists()
    assert not living.exists()
    with pytest.raises(FileNotFoundError), scratch(RUNS):
        raise FileNotFoundError
