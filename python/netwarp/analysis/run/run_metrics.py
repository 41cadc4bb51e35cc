"""Stored metrics of a run, and a check of whether they are up to date.

The same code and the same records give the same metrics. The metrics' file has a digest of the code; records that have
changed since are recognised by their times.
"""

import hashlib
from functools import cache
from importlib import metadata, resources
from pathlib import Path

from netwarp.analysis.run.metrics import metrics_of
from netwarp.store.errors import StoreError
from netwarp.store.rundir import RunDir
from netwarp.values.keep import EVERYTHING

SOURCES = ("values", "modules", "energy", "lab_format", "flows", "store", "stats", "analysis")
"""Modules and folders of netwarp that decide a metric."""
_LIBRARIES = ("numpy", "polars")


@cache
def code_digest() -> str:
    """SHA-256 over everything that decides a metric: netwarp's own sources, and the versions of its libraries."""
    package = Path(str(resources.files("netwarp")))
    digest = hashlib.sha256(repr([(name, metadata.version(name)) for name in _LIBRARIES]).encode())
    roots = [package / source for source in SOURCES]
    for path in sorted(file for root in roots for file in ([root] if root.is_file() else root.rglob("*.py"))):
        digest.update(path.relative_to(package).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def compute_metrics(run: RunDir) -> None:
    """Compute a run's metrics and write them. Raises StoreError, also if the run has not kept its records."""
    if run.keep != EVERYTHING:
        raise StoreError(
            f"{run.path} has no metrics, and no longer the records that they are computed from (record.keep = "
            f'"{run.keep}"); remove it and give the same `netwarp run` again, which makes only what is missing'
        )
    run.write_metrics(metrics_of(run), code_digest())


def is_current(run: RunDir) -> bool:
    """Whether the metrics that a run has are those that `compute_metrics` would write, or the last that it can have,
    since it has not kept its records."""
    if run.keep != EVERYTHING:
        return run.metrics_path.is_file()
    if run.metrics_computed_by() != code_digest():
        return False
    written = run.metrics_path.stat().st_mtime_ns
    return all(file.stat().st_mtime_ns <= written for file in (*run.path.glob("*.arrows"), run.path / "run.json"))
