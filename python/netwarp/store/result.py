"""The result directory, which `netwarp run` makes.

DIR/manifest.json scenario.toml plan.json runs/<id>/ summary.{csv,parquet} statistics.{csv,parquet} plots/
"""

import logging
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import polars as pl

from netwarp.common.threads import on_each
from netwarp.store.digests import changed_files
from netwarp.store.documents import ManifestJson, PlanJson
from netwarp.store.errors import NoResultError, StoreError
from netwarp.store.files import write_atomic
from netwarp.store.keep import absent_records
from netwarp.store.making import ResultWriter, begin_result
from netwarp.store.run_status import RunStatus
from netwarp.store.rundir import RunDir
from netwarp.store.schemas import TABLES
from netwarp.store.streams import scan_streams
from netwarp.store.summary import PlannedRun, RunOutcome, axes_of, axis_series, planned_runs, summary_frame
from netwarp.store.tables import read_parquet
from netwarp.values.json_values import Json

_LOG = logging.getLogger(__name__)
_WORDS = ("scope", "name", "metric")
_SUMMARY_SCHEMA = pl.Schema(
    dict.fromkeys(("run_id", "status", *_WORDS), pl.String()) | {"seed": pl.Int64(), "value": pl.Float64()}
)
_STATISTICS_SCHEMA = pl.Schema(
    dict.fromkeys(_WORDS, pl.String()) | {"n": pl.Int64(), "median": pl.Float64(), "left_out": pl.Int64()}
)


@dataclass(frozen=True)
class ResultDir(ResultWriter):
    """One result directory; opening it reads nothing."""

    chosen: frozenset[str] | None = None
    """The ids of the selected runs; None: all planned runs."""

    def only(self, run_ids: Collection[str]) -> "ResultDir":
        """The same result, as if only these runs had been planned."""
        return ResultDir(self.path, frozenset(run_ids))

    @cached_property
    def failed(self) -> int:
        """The number of its runs that failed. Raises StoreError."""
        return sum(outcome.status == RunStatus.FAILED for outcome in self.outcomes())

    @property
    def plots(self) -> Path:
        """The directory of figures."""
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
        return [run for run in made if self.run(run.id).status()["status"] != RunStatus.FAILED]

    @cached_property
    def axes(self) -> list[str]:
        """The axes by which runs differ: `case` if there are cases, then the swept paths in the scenario's order."""
        return axes_of(self.plan, self.planned)

    @property
    def baseline(self) -> str | None:
        """The case with which the others are compared, if the scenario names one (`baseline`)."""
        named = self.plan.get("baseline")
        return None if named is None else str(named["case"])

    @property
    def settings(self) -> tuple[str, ...]:
        """The settings of the command line (`--set`), in order."""
        asked = self.plan.get("asked")
        return tuple(asked.get("settings", ())) if asked else ()

    def settings_of(self, case: str) -> Mapping[str, Json]:
        """The settings of a case, by path; empty for old results, which lack them."""
        return dict(self.plan.get("cases", {}).get(case, {}))

    def usual_value(self, path: str) -> Json:
        """The scenario's value of a path that a case sets, as written; None if it has none."""
        baseline = self.plan.get("baseline")
        return baseline.get("usual", {}).get(path) if baseline else None

    def run(self, run_id: str) -> RunDir:
        """The directory of a run, whether it exists or not."""
        return RunDir(self.run_path(run_id))

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

    def absent_records(self) -> list[str]:
        """Sentences about what is absent because runs did not keep all of their records. Raises StoreError."""
        return list(absent_records([self.run_path(run.id) for run in self.planned if self.is_complete(run.id)]))

    def outcomes(self) -> list[RunOutcome]:
        """Status and metrics of every planned run, in the plan's order; a run that is not made yet is `missing`."""
        return [self.outcome(run) for run in self.planned]

    def write_summary(
        self, reported: Collection[str] = (), derive: Callable[[pl.DataFrame], pl.DataFrame] | None = None
    ) -> pl.DataFrame:
        """Write `summary.parquet` and `summary.csv` from the runs' metrics, atomically, and return the frame.

        A failed or missing run is one row without scope, name, metric and value, and a warning in the log, unless its
        id is in `reported`: then the user has seen its reason. `derive` adds rows computed from several runs. Raises
        StoreError.
        """
        outcomes = self.outcomes()
        if missing := sum(outcome.status == RunStatus.MISSING for outcome in outcomes):
            _LOG.warning("%d of %d runs have not been made yet", missing, len(outcomes))
        for outcome in outcomes:
            if outcome.status not in (RunStatus.OK, RunStatus.MISSING) and outcome.run.id not in reported:
                left = "left out of the metrics" if outcome.status == RunStatus.FAILED else "left out of aggregates"
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
            return RunOutcome(run, RunStatus.MISSING, "it has not been made", None)
        status = directory.status()
        kind, reason = status["status"], status.get("reason")
        if kind == RunStatus.FAILED:
            return RunOutcome(run, kind, reason, None)
        if not directory.metrics_path.exists():
            return RunOutcome(run, RunStatus.FAILED, "it has no metrics", None)
        return RunOutcome(run, kind, reason, directory.metrics())


def open_result(path: Path) -> ResultDir:
    """Open a result directory. Raises NoResultError if it is missing, or has no `plan.json`."""
    if not path.is_dir():
        kind = "is a file, not" if path.exists() else "does not exist; name"
        raise NoResultError(f"{path} {kind} a result directory, such as `netwarp run` writes under results/")
    if not (path / "plan.json").is_file():
        raise NoResultError(f"{path} is not a result directory: it has no plan.json")
    return ResultDir(path)


def open_verified(path: Path) -> ResultDir:
    """Open a result directory and verify by their digests that its records are unchanged.

    Raises StoreError if it has no `plan.json`, or if the files of a run have changed since the run was made.
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
def create_result(path: Path, *, scenario_toml: str, plan: PlanJson, manifest: ManifestJson) -> Iterator[ResultDir]:
    """Begin a result as `begin_result` does, for callers that also read it."""
    with begin_result(path, scenario_toml=scenario_toml, plan=plan, manifest=manifest):
        yield ResultDir(path)
