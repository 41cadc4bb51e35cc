"""A result directory while its runs are made: the steps before and around a run, which read no table.

Nothing here imports polars or pyarrow: a command starts its machine before it loads them, which takes longer than the
start of the machine.
"""

import atexit
import itertools
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from netwarp.store.errors import PlanMismatchError, store_errors
from netwarp.store.files import make_folder, read_json, write_json, write_text
from netwarp.store.lock import locked
from netwarp.store.planfile import refuse_other_plan
from netwarp.store.run_status import RunStatus
from netwarp.store.status import is_by_host, read_status

if TYPE_CHECKING:
    from netwarp.store.documents import ManifestJson, PlanJson

_TEMPORARY = ".part"
_RESUMED = ("created", "argv", "netwarp")


@dataclass(frozen=True)
class ResultWriter:
    """A result directory for the makers of its runs; `ResultDir` also reads it."""

    path: Path

    @cached_property
    def plan(self) -> "PlanJson":
        """`plan.json`: `axes` (paths, in order) and `runs` (each with id, seed, point, case). Raises StoreError."""
        from netwarp.store.documents import PlanJson, checked  # lazy: a new result has no documents to check

        return checked(read_json(self.path / "plan.json"), PlanJson, self.path / "plan.json")

    @cached_property
    def manifest(self) -> "ManifestJson":
        """`manifest.json`: versions, digests, argv, host. Raises StoreError."""
        from netwarp.store.documents import ManifestJson, checked  # as above

        return checked(read_json(self.path / "manifest.json"), ManifestJson, self.path / "manifest.json")

    def run_path(self, run_id: str) -> Path:
        """The directory of a run, whether it exists or not."""
        return self.path / "runs" / run_id

    def is_complete(self, run_id: str) -> bool:
        """Whether the run has been made (a run directory gets its name when it is complete)."""
        return self.run_path(run_id).is_dir()

    def status_of(self, run_id: str) -> RunStatus:
        """The outcome of a run that has been made. Raises StoreError."""
        return read_status(self.run_path(run_id))["status"]

    def is_by_host(self, run_id: str) -> bool:
        """Whether a run that has been made failed because of its machine. Raises StoreError."""
        return is_by_host(self.run_path(run_id))

    @contextmanager
    def making(self, run_id: str) -> Iterator[Path]:
        """A new temporary directory for a run, renamed to `runs/<id>` when the block succeeds.

        If the block raises, the directory is removed. A complete run of the same id is replaced. Raises StoreError.
        """
        final = self.run_path(run_id)
        # The name has this process's id: the machine of a killed process may still write into its own directory.
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


def _replace(final: Path, new: Path) -> None:
    """Move a complete run into place, so that its name never stands for part of a run."""
    if final.exists():
        old = new.with_name(f"{final.name}.old{_TEMPORARY}")
        shutil.rmtree(old, ignore_errors=True)
        final.rename(old)
        new.rename(final)
        shutil.rmtree(old, ignore_errors=True)
    else:
        new.rename(final)


def new_directory(name: str) -> Path:
    """Create `results/<name>-<UTC>` for a command that was not told where its result goes.

    The directory is new also if another command of this name began in the same second: `…-2`, `…-3` and so on. It is
    removed at the end of the process if nothing was written to it. Raises StoreError.
    """
    path = first = Path("results") / f"{name}-{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
    numbers = itertools.count(2)
    while True:
        with store_errors(path, "create"), suppress(FileExistsError):
            path.mkdir(parents=True)
            atexit.register(_remove_empty, path.absolute())
            return path
        path = first.with_name(f"{first.name}-{next(numbers)}")


def _remove_empty(path: Path) -> None:
    """Remove a directory, and the one above it, if nothing is in them."""
    with suppress(OSError):
        path.rmdir()
        path.parent.rmdir()


@contextmanager
def begin_result(
    path: Path, *, scenario_toml: str, plan: "PlanJson", manifest: "ManifestJson"
) -> Iterator[ResultWriter]:
    """Create a result directory, or resume one with the same plan, and hold its lock while the block runs.

    Raises PlanMismatchError if it belongs to another plan or holds something else, StoreError if another process
    holds the lock or the directory cannot be written.
    """
    with store_errors(path, "create"):
        path.mkdir(parents=True, exist_ok=True)
    with locked(path):
        result = ResultWriter(path)
        if (path / "plan.json").exists():
            refuse_other_plan(path, result.plan, plan)
        elif foreign := sorted(p.name for p in path.iterdir() if not _is_ours(p)):
            raise PlanMismatchError(
                f"{path} exists and is not a result directory (it has {foreign[0]}); choose another"
            )
        make_folder(path / "runs")
        _describe(result, scenario_toml, plan, manifest)
        yield result


def _is_ours(path: Path) -> bool:
    """Whether netwarp may have left this in a directory before it wrote the plan."""
    return path.name.startswith(".") or path.name in {"runs", "scenario.toml", "manifest.json"}


def _describe(result: ResultWriter, scenario_toml: str, plan: "PlanJson", manifest: "ManifestJson") -> None:
    """Describe a new result; in a resumed one, remove a killed process's leftovers and note the date."""
    path = result.path
    if not (path / "plan.json").exists():
        write_text(path / "scenario.toml", scenario_toml)
        write_json(path / "manifest.json", manifest)
        write_json(path / "plan.json", plan)  # last, so that a directory with a plan has the other two files
        return
    _sweep(path)
    resumed = [*result.manifest.get("resumed", []), {key: manifest.get(key) for key in _RESUMED}]
    write_json(path / "manifest.json", {**result.manifest, "resumed": resumed})


def _sweep(path: Path) -> None:
    """Remove the leftovers of a killed process: incomplete runs and partly written files."""
    for run in (path / "runs").glob(f"*{_TEMPORARY}"):
        shutil.rmtree(run, ignore_errors=True)
    for place in (path, path / "plots"):
        for file in place.glob(".*.tmp"):
            file.unlink(missing_ok=True)
