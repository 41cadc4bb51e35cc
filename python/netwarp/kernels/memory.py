"""What has been computed of files, remembered in the cache."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path

from netwarp.json_values import Json, JsonObject


def remembered(memory: Path) -> dict[str, Json]:
    """What a file remembers; nothing if it is missing or damaged."""
    try:
        known = json.loads(memory.read_text())
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def remember(memory: Path, known: JsonObject) -> None:
    """Write it for the next time. Another user's shared cache cannot be written; it is then computed again."""
    with contextlib.suppress(OSError):
        memory.parent.mkdir(parents=True, exist_ok=True)
        write_whole(memory, json.dumps(known, indent=1, sort_keys=True) + "\n")


def write_whole(path: Path, text: str) -> None:
    """Write a file that others read as it was or as it is now, never in part; of several writers the last one's stays.

    Raises OSError.
    """
    fresh = path.with_name(f"{path.name}.{os.getpid()}")
    fresh.write_text(text)
    fresh.replace(path)
