"""The states of runs, in the words that files keep."""

from enum import StrEnum


class RunStatus(StrEnum):
    """The state of a run: `status.json` holds one of the first three."""

    OK = "ok"
    SUSPECT = "suspect"
    FAILED = "failed"
    MISSING = "missing"
    """In the plan, and not made yet."""
    CANCELLED = "cancelled"
    """Ended by the user, and not kept."""


WRITTEN = (RunStatus.OK, RunStatus.SUSPECT, RunStatus.FAILED)
"""The statuses of runs that have been made."""
