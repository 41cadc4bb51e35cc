"""Names of views, which a scenario may request in addition to the tables and figures of every result."""

from __future__ import annotations

from netwarp.scenario.errors import did_you_mean
from netwarp.studies import registry


def known_views() -> list[str]:
    """The names of the views that studies offer, sorted."""
    return registry.names("views")


def view_name(value: str) -> str:
    """Check that there is a view of this name, and return the name. Raises ValueError."""
    known = known_views()
    if value not in known:
        here = f'there is no view "{value}"{did_you_mean(value, known)}'
        raise ValueError("; ".join([here, *registry.unloadable()]))
    return value
