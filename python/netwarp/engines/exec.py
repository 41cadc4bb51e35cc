"""What an engine does for a command (`netwarp exec`): its live output, and the report of its end."""

import contextlib
import os
from collections.abc import Iterator, Mapping
from typing import Any

FACTS = ("exit_code", "duration_ns", "files", "left_out", "left_out_count")
"""What of a command's end goes into status.json."""
OUTPUT, ERRORS = 1, 2


@contextlib.contextmanager
def live_descriptors(live: bool) -> Iterator[dict[str, int]]:
    """Options of the guard for this process's own standard output and error, with descriptors that it inherits.

    One that is closed is left out.
    """
    found: dict[str, int] = {}
    try:
        for name, descriptor in (("live-out", OUTPUT), ("live-err", ERRORS)) if live else ():
            with contextlib.suppress(OSError):
                found[name] = os.dup(descriptor)
        yield found
    finally:
        for descriptor in found.values():
            os.close(descriptor)


def facts_of(outcome: Mapping[str, Any]) -> dict[str, Any]:
    """What the agent reports about the command's end."""
    return {name: outcome[name] for name in FACTS if name in outcome}


def failure_of(outcome: Mapping[str, Any]) -> str | None:
    """Why a command counts as failed; None if it does not."""
    code = outcome.get("exit_code", 0)
    return f"the command ended with exit code {code}" if code else None
