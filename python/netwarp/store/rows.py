"""Rows of tables by the names of their columns, for readers that process single rows (`store/schemas.py`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, TypedDict, cast

if TYPE_CHECKING:
    import polars as pl


class AccountRow(TypedDict):
    """A flow's totals (`flows.arrows`)."""

    flow_id: int
    name: str
    tool: str
    start_ns: int
    connect_ns: int | None
    end_ns: int
    sent_bytes: int | None
    received_bytes: int | None
    retransmits: int | None
    rwnd_limited_us: int | None
    sndbuf_limited_us: int | None
    busy_us: int | None
    error: str | None
    sent_pkts: int | None
    received_pkts: int | None
    duplicate_pkts: int | None
    reordered_pkts: int | None
    jitter_us: float | None
    received_in_ns: int | None
    unsent_pkts: int | None


class NamespaceRow(TypedDict):
    """A network namespace that was created or named (`namespaces.arrows`)."""

    time_ns: int
    namespace: int
    event: int
    pid: int
    text: str


class DeviceRow(TypedDict):
    """The state of an interface from an instant on (`devices.arrows`)."""

    time_ns: int
    interface_index: int
    namespace: int
    event: int
    ifindex: int
    name: str
    kind: str
    mtu_bytes: int
    peer_index: int | None
    master_index: int | None
    offload: bool
    sent_pkts: int | None
    received_pkts: int | None


DisciplineRow = TypedDict(
    "DisciplineRow",
    {
        "time_ns": int,
        "interface_index": int,
        "handle": int,
        "parent": int,
        "kind": str,
        "class": bool,
        "gone": bool,
        "rate_bps": int | None,
        "limit": int | None,
        "delay_ns": int | None,
        "jitter_ns": int | None,
        "loss": float | None,
    },
)
"""A queueing discipline, or one of its classes, as configured from an instant on (`disciplines.arrows`)."""


def accounts(frame: pl.DataFrame) -> Iterator[AccountRow]:
    """Rows of `flows.arrows`."""
    return cast(Iterator[AccountRow], frame.iter_rows(named=True))


def namespaces(frame: pl.DataFrame) -> Iterator[NamespaceRow]:
    """Rows of `namespaces.arrows`."""
    return cast(Iterator[NamespaceRow], frame.iter_rows(named=True))


def devices(frame: pl.DataFrame) -> Iterator[DeviceRow]:
    """Rows of `devices.arrows`."""
    return cast(Iterator[DeviceRow], frame.iter_rows(named=True))


def disciplines(frame: pl.DataFrame) -> Iterator[DisciplineRow]:
    """Rows of `disciplines.arrows`."""
    return cast(Iterator[DisciplineRow], frame.iter_rows(named=True))
