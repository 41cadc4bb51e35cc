"""All families of rows: netwarp's own and those that studies offer."""

from __future__ import annotations

from collections.abc import Sequence

from netwarp.common.words import nearest
from netwarp.store.errors import SelectionError
from netwarp.studies import registry
from netwarp.verify.row import Family, Row, Size
from netwarp.verify.rows import (
    accounts,
    arithmetic,
    bbr,
    beside_ns3,
    captures,
    classes,
    controls,
    exchanges,
    media,
    multipath,
    paths,
    planned,
    published,
    queues,
    recovery,
    simulators,
    timers,
    windows,
    wires,
)

_OWN = (
    arithmetic.FAMILY,
    paths.FAMILY,
    accounts.FAMILY,
    wires.FAMILY,
    timers.FAMILY,
    exchanges.FAMILY,
    media.FAMILY,
    queues.FAMILY,
    classes.FAMILY,
    windows.FAMILY,
    controls.FAMILY,
    planned.FAMILY,
    recovery.FAMILY,
    multipath.FAMILY,
    bbr.FAMILY,
    captures.FAMILY,
    simulators.FAMILY,
    beside_ns3.FAMILY,
    published.FAMILY,
)
_SIZES = tuple(Size)


def families() -> tuple[Family, ...]:
    """The families in the order of the page. Raises StudyError."""
    return (*_OWN, *registry.families())


def choose(names: Sequence[str], size: Size) -> list[tuple[Family, Row]]:
    """The rows of these names, or all rows up to this size if no name is given, each with its family.

    Raises SelectionError for a name that no row has.
    """
    rows = [(family, row) for family in families() for row in family.rows]
    known = [row.name for _, row in rows]
    for name in names:
        if name not in known:
            hint = nearest(name, known) or f"; there are {', '.join(known)}"
            raise SelectionError(f'there is no row "{name}"{hint}')
    if names:
        return [(family, row) for family, row in rows if row.name in names]
    return [(family, row) for family, row in rows if _SIZES.index(row.size) <= _SIZES.index(size)]
