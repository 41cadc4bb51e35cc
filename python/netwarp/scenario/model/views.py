"""Names of views: what a scenario may ask for beyond the tables and figures that every result gets."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from netwarp.scenario.errors import did_you_mean


def known_views() -> list[str]:
    """The views that there are, by their names in a scenario (`three-node`), sorted.

    They are looked up as files: views read results, and a scenario knows nothing of reading.
    """
    folder = Path(str(resources.files("netwarp") / "views"))
    modules = (entry for entry in folder.iterdir() if entry.suffix == ".py" or (entry / "__init__.py").is_file())
    return sorted(entry.stem.replace("_", "-") for entry in modules if not entry.name.startswith("_"))


def view_name(value: str) -> str:
    """The name, if there is such a view. Raises ValueError."""
    known = known_views()
    if value not in known:
        raise ValueError(f'there is no view "{value}"{did_you_mean(value, known)}')
    return value
