"""`manifest.json` and `plan.json`: the software and the machine that made a result."""

from __future__ import annotations

import os
import platform
import re
import socket
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, distribution
from typing import TYPE_CHECKING

from netwarp.plan import Plan
from netwarp.scenario.model import Scenario
from netwarp.scenario.model.paths import value_at

if TYPE_CHECKING:
    # Imported for types only: the models are not needed to write the files, and take time to create.
    from netwarp.store.documents import CasesJson, ManifestJson, PlanJson, PlannedRunJson


def manifest(engine: str, identity: Mapping[str, str], argv: list[str]) -> ManifestJson:
    """Return versions, digests, command line, host and date (UTC) of this invocation.

    `engine` is the name of the engine, or of the import, and `identity` its parts that decide a result.
    """
    return {
        "netwarp": installed_version(),
        "engine": engine,
        "identity": dict(identity),
        "argv": [os.fsencode(word).decode(errors="backslashreplace") for word in argv],
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "libraries": {name: _version(name) for name in ("polars", "pyarrow", "pydantic", "matplotlib")},
        "host": {
            "name": socket.gethostname(),
            "system": _system(),
            "machine": os.uname().machine,
            "processors": os.cpu_count(),
        },
        "executable": sys.executable,
    }


def installed_version() -> str:
    """The version of this netwarp."""
    return _version("netwarp")


def _system() -> str:
    """Return the same as `platform.platform()`, which runs a program (`uname -p`) for a name that it leaves out."""
    host = os.uname()
    return "-".join((host.sysname, host.release, host.machine, "with", "".join(platform.libc_ver())))


def _version(package: str) -> str:
    """Return the version of an installed package. `importlib.metadata.version` is slow: it parses the description."""
    metadata = distribution(package).read_text("METADATA")
    if metadata is None or (found := re.search(r"^Version: (.+)$", metadata, re.MULTILINE)) is None:
        raise PackageNotFoundError(package)
    return found[1].strip()


def plan_json(
    plan: Plan, engine: str, seeds: Sequence[int] | None = None, cases: Sequence[str] | None = None
) -> PlanJson:
    """Return the plan as it is written beside its results: axes and runs, each with id, seed, point and case.

    `cases` has the values that each case sets, by path, and `baseline` the case that the others are compared with,
    with the values of the scenario at these paths, as written. `asked` has the settings, `seeds` and `cases` that were
    given beyond the file: together with scenario.toml they make the same plan again.
    """
    runs: list[PlannedRunJson] = []
    for run in plan:
        entry: PlannedRunJson = {"id": run.id, "seed": run.seed, "point": dict(run.point)}
        if run.case is not None:
            entry["case"] = run.case
        runs.append(entry)
    return {
        "name": plan.scenario.name,
        "engine": engine,
        "identity": dict(plan.identity),
        "asked": {
            "settings": list(plan.scenario.source.settings),
            "seeds": list(seeds) if seeds is not None else None,
            "cases": list(cases) if cases is not None else None,
        },
        "axes": list(plan.axes),
        **_cases(plan.scenario),
        "runs": runs,
    }


def _cases(scenario: Scenario) -> CasesJson:
    found: CasesJson = {}
    if scenario.cases:
        found["cases"] = {case.name: dict(case.set) for case in scenario.cases}
    if scenario.baseline is not None:
        paths = dict.fromkeys(path for case in scenario.cases for path in case.set)
        usual = {path: value_at(scenario.keys_of(path), scenario.source.data) for path in paths}
        found["baseline"] = {"case": scenario.baseline, "usual": usual}
    return found
