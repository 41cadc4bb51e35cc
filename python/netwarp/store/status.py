"""`status.json`: the status of a run; the only file of a run with wall-clock facts."""

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netwarp.store.files import read_json, write_json
from netwarp.store.run_status import WRITTEN, RunStatus

if TYPE_CHECKING:
    from netwarp.store.documents import StatusJson

NAME = "status.json"


def read_status(run: Path) -> "StatusJson":
    """Status, reason, seconds of a run directory, read once for each state of the file. Raises StoreError."""
    path = run / NAME
    try:
        facts = path.stat()
    except OSError:
        return _read(path)
    return _read_once(path, facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns).copy()


@lru_cache(maxsize=2**14)
def _read_once(path: Path, _ino: int, _size: int, _mtime_ns: int, _ctime_ns: int) -> "StatusJson":
    return _read(path)


def _read(path: Path) -> "StatusJson":
    from netwarp.store.documents import StatusJson, checked  # lazy: runs that are not made yet have no status

    return checked(read_json(path), StatusJson, path)


def is_by_host(run: Path) -> bool:
    """Whether a run failed because of the machine that made it, so that it may succeed again. Raises StoreError."""
    status = read_status(run)
    return status["status"] == RunStatus.FAILED and bool(status.get("by_host"))


def write_status(run: Path, status: RunStatus, reason: str | None, **facts: Any) -> None:
    """Write it into a run directory. Raises StoreError, ValueError."""
    if status not in WRITTEN:
        raise ValueError(f"status must be one of {', '.join(WRITTEN)}, not {str(status)!r}")
    _read_once.cache_clear()
    write_json(run / NAME, {"status": status, "reason": reason, **facts})
