"""The scenarios that come with netwarp and with installed studies; nothing is loaded here that validates one."""

from __future__ import annotations

import tomllib
from importlib import resources
from pathlib import Path

from netwarp.studies import registry


def shipped_scenarios() -> dict[str, Path]:
    """The scenarios that come with netwarp and with installed studies: name → file, sorted by the file's name."""
    found = registry.scenarios() | own_scenarios()
    return dict(sorted(found.items(), key=lambda one: one[1].name))


def own_scenarios() -> dict[str, Path]:
    """The shipped scenarios that do not belong to a study."""
    folder = Path(str(resources.files("netwarp") / "scenarios"))
    return {file.stem: file for file in folder.glob("*.toml")}


def summary_in(path: Path) -> str | None:
    """The summary in the file of a shipped scenario; None if it cannot be read, or has none."""
    try:
        summary = tomllib.loads(path.read_text(encoding="utf-8")).get("summary")
    except (OSError, ValueError):
        return None
    return summary if isinstance(summary, str) else None
