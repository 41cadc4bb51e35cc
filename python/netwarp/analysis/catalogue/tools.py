"""The kinds of flow of which a metric is measured, for metrics that only some have."""

from collections.abc import Callable

from netwarp.analysis.catalogue.http_entries import HTTP_ENTRIES
from netwarp.analysis.catalogue.media_entries import MEDIA_ENTRIES
from netwarp.analysis.catalogue.mptcp_entries import MPTCP_ENTRIES, SUBFLOW_ENTRIES
from netwarp.analysis.catalogue.quic_entries import QUIC_ENTRIES
from netwarp.analysis.catalogue.video_entries import VIDEO_ENTRIES
from netwarp.flows import FlowKind

_MAKERS: tuple[tuple[frozenset[str], Callable[[FlowKind], bool]], ...] = tuple(
    (frozenset(f"{scope}.{name}" for entry in entries for name in entry.names), has)
    for scope, entries, has in (
        ("flow", HTTP_ENTRIES, lambda kind: kind.pages),
        ("flow", MEDIA_ENTRIES, lambda kind: kind.media),
        ("flow", MPTCP_ENTRIES, lambda kind: kind.subflows),
        ("subflow", SUBFLOW_ENTRIES, lambda kind: kind.subflows),
        ("flow", QUIC_ENTRIES, lambda kind: kind.quic),
        ("flow", VIDEO_ENTRIES, lambda kind: kind.video),
    )
)


def has_metric(scope: str, metric: str, kind: FlowKind) -> bool:
    """Whether flows of this kind may have a metric; true for metrics that do not depend on the kind."""
    return all(has(kind) for names, has in _MAKERS if f"{scope}.{metric}" in names)
