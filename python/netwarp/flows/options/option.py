"""An option of a flow's connections or datagrams: one record for everything that the stages need to know about it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from netwarp.flows.kind import Transport
from netwarp.lab_format.model import LabSocketOption
from netwarp.lab_format.nodes import LabRouteMetric
from netwarp.values.fields import about
from netwarp.values.json_values import JsonObject

Family = Literal["ipv4", "ipv6"]


@dataclass(frozen=True, kw_only=True)
class FlowOption:
    """One option; subclasses say what sets it: the flow's sockets, a separate route, or both."""

    name: str
    """The field of a flow in a scenario."""
    meaning: str
    """The description of that field."""
    examples: tuple[Any, ...]
    refused: tuple[Any, ...]
    kind: Any
    """The type of its value."""
    default: Any = None
    """The value of a flow without this option."""
    transports: tuple[Transport, ...] = ("tcp",)
    """The transports whose flows have it."""
    beside: JsonObject | None = None
    """Other fields of the flow that the examples need."""

    def field(self) -> tuple[Any, Any]:
        """Type and default of the field of a flow in a scenario."""
        kind = self.kind | None if self.default is None else self.kind
        field = about(
            self.meaning,
            *self.examples,
            refused=list(self.refused),
            beside=self.beside or {},
            default=self.default,
        )
        return kind, field

    def sockets(self, value: Any, transport: Transport | None, family: Family) -> Iterator[LabSocketOption]:
        """The options of a flow's sockets that set it."""
        yield from ()

    def metrics(self, value: Any, transport: Transport | None) -> Iterator[LabRouteMetric]:
        """The metrics of a route that set it."""
        yield from ()
