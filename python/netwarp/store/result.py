"""The result directory: what `netwarp run` makes.

DIR/manifest.json scenario.toml plan.json runs/<id>/ summary.csv summary.parquet plots/
"""

import fcntl
import json
import logging
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from netwarp.store.errors import PlanMismatchError, StoreError, speaking
from netwarp.store.files import read_json, write_atomic, write_json, write_text
from netwarp.store.rundir import RunDir
from netwarp.store.summary import PlannedRun, RunOutcome, axes_of, planned_runs, summary_frame

_LOG = logging.getLogger(__name__)
_TEMPORARY = ".part"


@dataclass(frozen=True)
class ResultDir:
    """One result directory; opening it reads nothing."""

    path: Path

    @cached_property
    def plan(self) -> dict[str, Any]:
        """`plan.json`: `axes` (paths, in order) and `runs` (each with id, seed, point, case). Raises StoreError."""
        return read_json(self.path / "plan.json")

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """`manifest.json`: versions, digests, argv, host. Raises StoreError."""
        return read_json(self.path / "manifest.json")

    @property
    def plots(self) -> Path:
        """Where figures are."""
        return self.path / "plots"

    @property
    def planned(self) -> list[PlannedRun]:
        """The planned runs, in the plan's order. Raises StoreError."""
        try:
            return planned_runs(self.plan)
        except (KeyError, TypeError) as error:
            raise StoreError(
                f"cannot read {self.path / 'plan.json'}: its list of runs is incomplete ({error})"
            ) from error

    @property
    def axes(self) -> list[str]:
        """What differs between runs: `case` if there are cases, then the swept paths in the scenario's order."""
        return axes_of(self.plan, self.planned)

    def run(self, run_id: str) -> RunDir:
        """The directory of a run, whether it exists or not."""
        return RunDir(self.path / "runs" / run_id)

    def is_complete(self, run_id: str) -> bool:
        """Whether the run has been made (a run directory appears under its name when complete)."""
        return self.run(run_id).path.is_dir()

    @contextmanager
    def making(self, run_id: str) -> Iterator[Path]:
        """A fresh temporary directory for a run, renamed to `runs/<id>` when the block ends well.

        If the block raises, the directory goes away; a complete run of the same id is replaced. Raises StoreError.
        """
        final = self.run(run_id).path
        temporary = final.with_name(run_id + _TEMPORARY)
        with speaking(temporary, "write"):
            shutil.rmtree(temporary, ignore_errors=True)
            temporary.mkdir(parents=True)
        try:
            yield temporary
            with speaking(final, "write"):
                shutil.rmtree(final, ignore_errors=True)
                temporary.rename(final)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise

    def outcomes(self) -> list[RunOutcome]:
        """Status and metrics of every planned run, in the plan's order; a run not made yet counts as failed."""
        return [self._outcome(run) for run in self.planned]

    def write_summary(self) -> pl.DataFrame:
        """Write `summary.parquet` and `summary.csv` from the runs' metrics, atomically; returns the frame.

        A failed run is one row without scope, name, metric and value, and a warning in the log. Raises StoreError.
        """
        outcomes = self.outcomes()
        for outcome in outcomes:
            if outcome.status != "ok":
                left = "left out of the metrics" if outcome.status == "failed" else "left out of aggregates"
                _LOG.warning(
                    "run %s %s, %s: %s", outcome.run.id, outcome.status, left, outcome.reason or "no reason given"
                )
        frame = summary_frame(self.axes, outcomes)
        write_atomic(self.path / "summary.parquet", frame.write_parquet)
        write_atomic(self.path / "summary.csv", frame.write_csv)
        return frame

    def summary(self) -> pl.DataFrame:
        """Read `summary.parquet`. Raises StoreError."""
        with speaking(self.path / "summary.parquet", "read"):
            return pl.read_parquet(self.path / "summary.parquet")

    def _outcome(self, run: PlannedRun) -> RunOutcome:
        directory = self.run(run.id)
        if not self.is_complete(run.id):
            return RunOutcome(run, "failed", "it has not been made", None)
        status = directory.status()
        kind, reason = str(status.get("status")), status.get("reason")
        if kind == "failed":
            return RunOutcome(run, kind, reason, None)
        if not directory.metrics_path.exists():
            return RunOutcome(run, "failed", "it has no metrics", None)
        return RunOutcome(run, kind, reason, directory.metrics())


def open_result(path: Path) -> ResultDir:
    """Open a result directory. Raises StoreError if there is no `plan.json` in it."""
    if not (path / "plan.json").is_file():
        raise StoreError(f"{path} is not a result directory: it has no plan.json")
    return ResultDir(path)


@contextmanager
def create_result(
    path: Path, *, scenario_toml: str, plan: Mapping[str, Any], manifest: Mapping[str, Any]
) -> Iterator[ResultDir]:
    """Create a result directory, or resume one with the same plan, and hold its lock while the block runs.

    Raises PlanMismatchError if it belongs to another plan or holds something else, StoreError if another process
    holds the lock or the directory cannot be written.
    """
    with speaking(path, "create"):
        path.mkdir(parents=True, exist_ok=True)
    with _lock(path):
        result = ResultDir(path)
        if (path / "plan.json").exists():
            _refuse_other_plan(result, plan)
        elif foreign := sorted(p.name for p in path.iterdir() if not p.name.startswith(".")):
            raise PlanMismatchError(
                f"{path} exists and is not a result directory (it has {foreign[0]}); choose another"
            )
        with speaking(path / "runs", "create"):
            (path / "runs").mkdir(exist_ok=True)
        write_text(path / "scenario.toml", scenario_toml)
        write_json(path / "manifest.json", manifest)
        write_json(path / "plan.json", plan)
        yield result


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    with speaking(path, "write"):
        file = (path / ".lock").open("w")
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise StoreError(f"{path} is in use by another netwarp; wait for it or choose another directory") from error
        yield


def _refuse_other_plan(result: ResultDir, plan: Mapping[str, Any]) -> None:
    if result.plan != json.loads(json.dumps(plan)):
        raise PlanMismatchError(
            f"{result.path} holds the result of another plan; choose another directory with -o, or remove it"
        )
