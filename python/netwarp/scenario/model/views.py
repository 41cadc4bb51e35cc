"""Names of views: what a scenario may ask for beyond the tables and figures that every result gets."""

from __future__ import annotations

from netwarp.scenario.errors import did_you_mean
from netwarp.studies import registry


def known_views() -> list[str]:
    """The views that studies offer, by their names in a scenario, sorted."""
    return registry.names("views")


def view_name(value: str) -> str:
    """The name, if there is such a view. Raises ValueError."""
    known = known_views()
    if value not in known:
        here = f'there is no view "{value}"{did_you_mean(value, known)}'
        raise ValueError("; ".join([here, *registry.unloadable()]))
    return value
