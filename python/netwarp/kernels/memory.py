"""Files in the cache that remember values computed from other files."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path

from netwarp.values.json_values import Json, JsonObject


def remembered(memory: Path) -> dict[str, Json]:
    """Return the values that a file remembers; empty if it is missing or damaged."""
    try:
        known = json.loads(memory.read_text())
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def remember(memory: Path, known: JsonObject) -> None:
    """Write the values for the next time. Another user's cache is not written: they are computed again."""
    with contextlib.suppress(OSError):
        memory.parent.mkdir(parents=True, exist_ok=True)
        write_whole(memory, json.dumps(known, indent=1, sort_keys=True) + "\n")


def write_whole(path: Path, text: str) -> None:
    """Write a file atomically: others read the old or the new content, and the last of several writers wins.

    Raises OSError.
    """
    fresh = path.with_name(f"{path.name}.{os.getpid()}")
    fresh.write_text(text)
    fresh.replace(path)
