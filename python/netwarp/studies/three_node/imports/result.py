"""Imports a directory of runs as a result directory, which all commands on results take."""

import hashlib
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from netwarp.execute.manifest import manifest
from netwarp.plan import ID_DIGITS
from netwarp.steps.imports import Imported, Note
from netwarp.store.digests import digest_file
from netwarp.store.documents import PlanJson, PlannedRunJson
from netwarp.store.errors import StoreError
from netwarp.store.making import new_directory
from netwarp.store.planfile import IMPORTED
from netwarp.store.result import create_result
from netwarp.studies.three_node.imports.layout import TESTS, RunFiles, find_runs
from netwarp.studies.three_node.imports.network import Timed, scenario_toml
from netwarp.studies.three_node.imports.run import ReadRun, read_run, write_run

_FORMAT = 1
"""The version of the import's output for the same files, which is part of every run's id."""


def import_result(directory: Path, output: Path | None = None) -> Imported:
    """Make a result of the scripts' measurements below `directory`, without metrics, which the analysis computes.

    Cases are the scripts' scenarios, seeds the repetitions. The same files give the same runs; a result that already
    has some of them is completed. Raises LayoutError, StoreError (PlanMismatchError if `output` holds another result).
    """
    found = find_runs(directory)
    name = _name(directory)
    place = output or new_directory(name)
    ids = [_id(files) for files in found]
    runs = [read_run(files) for files in found]
    if not any(run.tests for run in runs):
        why = [note for run in runs for note in run.notes if note.file in TESTS.values()]
        raise StoreError(f"{directory}: no test of any run can be used: {'; '.join(map(str, why[:4]))}")
    repetitions = sorted({files.repetition for files in found})
    text = scenario_toml(name, directory.resolve().name, _cases(runs), repetitions)
    notes: list[Note] = []
    with create_result(
        place,
        scenario_toml=text,
        plan=_plan(name, found, ids),
        manifest=manifest(IMPORTED, {}, sys.argv),
    ) as result:
        for run, run_id in zip(runs, ids, strict=True):
            with result.making(run_id) as made:
                write_run(run, made, run_id, name)
            notes += run.notes
    return Imported(place, len(runs), tuple(notes))


def _name(directory: Path) -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "-", directory.resolve().name).strip("-")[:64] or "imported"


def _id(files: RunFiles) -> str:
    """A run's id, from its name and the content of its files. Raises StoreError."""
    hashed = hashlib.sha256(f"{IMPORTED} {_FORMAT}\0{files.scenario}\0{files.repetition}".encode())
    for path in files.files():
        hashed.update(f"\0{path.name}\0{_digest(path)}".encode(errors="surrogateescape"))
    return hashed.hexdigest()[:ID_DIGITS]


def _digest(path: Path) -> str:
    """The digest of a file; empty if it cannot be read (it is then left out, with the reason)."""
    try:
        return digest_file(path) if path.is_file() else ""
    except StoreError:
        return ""


def _cases(runs: Sequence[ReadRun]) -> dict[str, dict[str, Timed]]:
    """The tests of each scenario, each from the first repetition that has it."""
    cases: dict[str, dict[str, Timed]] = {}
    for run in runs:
        known = cases.setdefault(run.files.scenario, {})
        for name, timed in run.tests.items():
            known.setdefault(name, timed)
    return cases


def _plan(name: str, found: Sequence[RunFiles], ids: Sequence[str]) -> PlanJson:
    runs: list[PlannedRunJson] = [
        {"id": run_id, "seed": files.repetition, "point": {}, "case": files.scenario}
        for files, run_id in zip(found, ids, strict=True)
    ]
    return {"name": name, "engine": IMPORTED, "identity": {}, "axes": [], "runs": runs}
