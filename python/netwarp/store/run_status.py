"""How runs go, in words that files keep."""

from enum import StrEnum


class RunStatus(StrEnum):
    """How a run went: `status.json` holds one of the first three."""

    OK = "ok"
    SUSPECT = "suspect"
    FAILED = "failed"
    MISSING = "missing"
    """Of the plan, and not made yet."""
    CANCELLED = "cancelled"
    """Ended by the user, and not kept."""


WRITTEN = (RunStatus.OK, RunStatus.SUSPECT, RunStatus.FAILED)
"""The statuses of runs that have been made."""
