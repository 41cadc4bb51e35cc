"""What has been computed of files, remembered in the cache."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def remembered(memory: Path) -> dict[str, Any]:
    """What a file remembers; nothing if it is missing or damaged."""
    try:
        known = json.loads(memory.read_text())
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def remember(memory: Path, known: Mapping[str, Any]) -> None:
    """Write it for the next time. Another user's shared cache cannot be written; it is then computed again."""
    fresh = memory.with_name(f"{memory.name}.{os.getpid()}")
    with contextlib.suppress(OSError):
        memory.parent.mkdir(parents=True, exist_ok=True)
        fresh.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")
        fresh.replace(memory)
