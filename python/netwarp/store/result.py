"""The result directory: what `netwarp run` makes.

DIR/manifest.json scenario.toml plan.json runs/<id>/ summary.{csv,parquet} statistics.{csv,parquet} plots/
"""

import logging
import os
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from netwarp.store.digests import changed_files
from netwarp.store.documents import ManifestDocument, PlanDocument, checked
from netwarp.store.errors import PlanMismatchError, StoreError, store_errors
from netwarp.store.files import make_folder, read_json, write_atomic, write_json, write_text
from netwarp.store.lock import locked
from netwarp.store.planfile import refuse_other_plan
from netwarp.store.rundir import RunDir
from netwarp.store.schemas import TABLES
from netwarp.store.streams import scan_streams
from netwarp.store.summary import MISSING, PlannedRun, RunOutcome, axes_of, axis_series, planned_runs, summary_frame
from netwarp.store.tables import read_parquet
from netwarp.threads import on_each

_LOG = logging.getLogger(__name__)
_WORDS = ("scope", "name", "metric")
_SUMMARY_SCHEMA = pl.Schema(
    dict.fromkeys(("run_id", "status", *_WORDS), pl.String()) | {"seed": pl.Int64(), "value": pl.Float64()}
)
_STATISTICS_SCHEMA = pl.Schema(
    dict.fromkeys(_WORDS, pl.String()) | {"n": pl.Int64(), "median": pl.Float64(), "left_out": pl.Int64()}
)
_TEMPORARY = ".part"
_RESUMED = ("created", "argv", "netwarp")


@dataclass(frozen=True)
class ResultDir:
    """One result directory; opening it reads nothing."""

    path: Path
    chosen: frozenset[str] | None = None
    """The ids of the runs that are looked at; None: all that are planned."""

    def only(self, run_ids: Collection[str]) -> "ResultDir":
        """The same result, as if these runs alone had been planned."""
        return ResultDir(self.path, frozenset(run_ids))

    @cached_property
    def plan(self) -> dict[str, Any]:
        """`plan.json`: `axes` (paths, in order) and `runs` (each with id, seed, point, case). Raises StoreError."""
        return checked(read_json(self.path / "plan.json"), PlanDocument, self.path / "plan.json")

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """`manifest.json`: versions, digests, argv, host. Raises StoreError."""
        return checked(read_json(self.path / "manifest.json"), ManifestDocument, self.path / "manifest.json")

    @cached_property
    def failed(self) -> int:
        """How many of its runs failed. Raises StoreError."""
        return sum(outcome.status == "failed" for outcome in self.outcomes())

    @property
    def plots(self) -> Path:
        """Where figures are."""
        return self.path / "plots"

    @cached_property
    def planned(self) -> list[PlannedRun]:
        """The planned runs, in the plan's order. Raises StoreError."""
        try:
            runs = planned_runs(self.plan)
            return runs if self.chosen is None else [run for run in runs if run.id in self.chosen]
        except (KeyError, TypeError) as error:
            raise StoreError(
                f"cannot read {self.path / 'plan.json'}: its list of runs is incomplete ({error})"
            ) from error

    @property
    def good(self) -> list[PlannedRun]:
        """The runs that have been made and did not fail, in the plan's order. Raises StoreError."""
        made = (run for run in self.planned if self.is_complete(run.id))
        return [run for run in made if self.run(run.id).status().get("status") != "failed"]

    @cached_property
    def axes(self) -> list[str]:
        """What differs between runs: `case` if there are cases, then the swept paths in the scenario's order."""
        return axes_of(self.plan, self.planned)

    @property
    def baseline(self) -> str | None:
        """The case that the others are compared with, if the scenario names one (`baseline`)."""
        named = self.plan.get("baseline")
        return None if named is None else str(named["case"])

    def settings_of(self, case: str) -> Mapping[str, Any]:
        """What a case sets, by path; nothing is known of the cases of old results."""
        return dict(self.plan.get("cases", {}).get(case, {}))

    def usual_value(self, path: str) -> Any:
        """What the scenario says of a path that a case sets, as written; None if it says nothing."""
        return (self.plan.get("baseline") or {}).get("usual", {}).get(path)

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
        # A name of this process's own: a machine whose process was killed may still be writing into another.
        temporary = final.with_name(f"{run_id}.{os.getpid()}{_TEMPORARY}")
        with store_errors(temporary, "write"):
            shutil.rmtree(temporary, ignore_errors=True)
            temporary.mkdir(parents=True)
        try:
            yield temporary
            with store_errors(final, "write"):
                _replace(final, temporary)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise

    def scan(self, table: str) -> pl.LazyFrame:
        """A lazy frame of one table (`acks`, `packets`, `sockets` …) over all complete runs that did not fail.

        Columns: run_id, seed, one per axis (its path), then the table's own; no row is read before it is collected.
        """
        runs = self.good
        labels = [
            pl.Series("run_id", [run.id for run in runs], pl.String),
            pl.Series("seed", [run.seed for run in runs], pl.Int64),
            *(axis_series(axis, [run.point.get(axis) for run in runs]) for axis in self.axes),
        ]
        paths = [self.run(run.id).path / TABLES[table].file for run in runs]
        return scan_streams(paths, TABLES[table], labels)

    def outcomes(self) -> list[RunOutcome]:
        """Status and metrics of every planned run, in the plan's order; one not made yet is `missing`."""
        return [self.outcome(run) for run in self.planned]

    def write_summary(
        self, reported: Collection[str] = (), derive: Callable[[pl.DataFrame], pl.DataFrame] | None = None
    ) -> pl.DataFrame:
        """Write `summary.parquet` and `summary.csv` from the runs' metrics, atomically; returns the frame.

        A failed or missing run is one row without scope, name, metric and value, and a warning in the log, unless its
        id is in `reported`: the user has seen its reason. `derive` adds rows that follow from several runs. Raises
        StoreError.
        """
        outcomes = self.outcomes()
        if missing := sum(outcome.status == MISSING for outcome in outcomes):
            _LOG.warning("%d of %d runs have not been made yet", missing, len(outcomes))
        for outcome in outcomes:
            if outcome.status not in ("ok", MISSING) and outcome.run.id not in reported:
                left = "left out of the metrics" if outcome.status == "failed" else "left out of aggregates"
                _LOG.warning(
                    "run %s %s, %s: %s", outcome.run.id, outcome.status, left, outcome.reason or "no reason given"
                )
        frame = summary_frame(self.axes, outcomes)
        frame = derive(frame) if derive else frame
        write_atomic(self.path / "summary.parquet", frame.write_parquet)
        write_atomic(self.path / "summary.csv", frame.write_csv)
        return frame

    def summary(self) -> pl.DataFrame:
        """Read `summary.parquet`. Raises StoreError."""
        return read_parquet(self.path / "summary.parquet", _SUMMARY_SCHEMA)

    def write_statistics(self, frame: pl.DataFrame) -> None:
        """Write `statistics.parquet` and `statistics.csv`, atomically. Raises StoreError."""
        write_atomic(self.path / "statistics.parquet", frame.write_parquet)
        write_atomic(self.path / "statistics.csv", frame.write_csv)

    def statistics(self) -> pl.DataFrame:
        """Read `statistics.parquet`. Raises StoreError."""
        return read_parquet(self.path / "statistics.parquet", _STATISTICS_SCHEMA)

    def outcome(self, run: PlannedRun) -> RunOutcome:
        """Status and metrics of a planned run. Raises StoreError."""
        directory = self.run(run.id)
        if not self.is_complete(run.id):
            return RunOutcome(run, MISSING, "it has not been made", None)
        status = directory.status()
        kind, reason = str(status.get("status")), status.get("reason")
        if kind == "failed":
            return RunOutcome(run, kind, reason, None)
        if not directory.metrics_path.exists():
            return RunOutcome(run, "failed", "it has no metrics", None)
        return RunOutcome(run, kind, reason, directory.metrics())


def _replace(final: Path, new: Path) -> None:
    """Put a complete run in its place; at no moment is there a part of one under its name."""
    if final.exists():
        old = new.with_name(f"{final.name}.old{_TEMPORARY}")
        shutil.rmtree(old, ignore_errors=True)
        final.rename(old)
        new.rename(final)
        shutil.rmtree(old, ignore_errors=True)
    else:
        new.rename(final)


def _is_ours(path: Path) -> bool:
    """Whether netwarp may have left this in a directory before it wrote the plan."""
    return path.name.startswith(".") or path.name in {"runs", "scenario.toml", "manifest.json"}


def open_result(path: Path) -> ResultDir:
    """Open a result directory. Raises StoreError if there is no `plan.json` in it."""
    if not (path / "plan.json").is_file():
        raise StoreError(f"{path} is not a result directory: it has no plan.json")
    return ResultDir(path)


def open_verified(path: Path) -> ResultDir:
    """Open a result directory whose records are what was written when its runs were made, by their digests.

    Raises StoreError if there is no `plan.json` in it, or if the files of a run have changed since.
    """
    result = open_result(path)
    made = [run.id for run in result.planned if result.is_complete(run.id)]
    found = on_each(lambda run_id: (run_id, changed_files(result.run(run_id).path)), made)
    changed = [f"runs/{run_id}/{name}" for run_id, names in found for name in names]
    if changed:
        more = f" and {len(changed) - 3} more" if len(changed) > 3 else ""
        raise StoreError(
            f"{path} is damaged: {', '.join(changed[:3])}{more} changed since the run was made (digests.json). "
            "Remove the directories of these runs and give the same `netwarp run` again, which makes only what is "
            "missing."
        )
    return result


@contextmanager
def create_result(
    path: Path, *, scenario_toml: str, plan: Mapping[str, Any], manifest: Mapping[str, Any]
) -> Iterator[ResultDir]:
    """Create a result directory, or resume one with the same plan, and hold its lock while the block runs.

    Raises PlanMismatchError if it belongs to another plan or holds something else, StoreError if another process
    holds the lock or the directory cannot be written.
    """
    with store_errors(path, "create"):
        path.mkdir(parents=True, exist_ok=True)
    with locked(path):
        result = ResultDir(path)
        if (path / "plan.json").exists():
            refuse_other_plan(path, result.plan, plan)
        elif foreign := sorted(p.name for p in path.iterdir() if not _is_ours(p)):
            raise PlanMismatchError(
                f"{path} exists and is not a result directory (it has {foreign[0]}); choose another"
            )
        make_folder(path / "runs")
        _begin(result, scenario_toml, plan, manifest)
        yield result


def _begin(result: ResultDir, scenario_toml: str, plan: Mapping[str, Any], manifest: Mapping[str, Any]) -> None:
    """Write what describes a new result; of a resumed one sweep up what a killed process left, and note the date."""
    path = result.path
    if not (path / "plan.json").exists():
        write_text(path / "scenario.toml", scenario_toml)
        write_json(path / "manifest.json", manifest)
        write_json(path / "plan.json", plan)  # the last of the three: a directory with a plan has the others
        return
    _sweep(path)
    resumed = [*result.manifest.get("resumed", []), {key: manifest.get(key) for key in _RESUMED}]
    write_json(path / "manifest.json", result.manifest | {"resumed": resumed})


def _sweep(path: Path) -> None:
    """Remove what a process that was killed left: runs in flight, and files half written."""
    for run in (path / "runs").glob(f"*{_TEMPORARY}"):
        shutil.rmtree(run, ignore_errors=True)
    for place in (path, path / "plots"):
        for file in place.glob(".*.tmp"):
            file.unlink(missing_ok=True)
