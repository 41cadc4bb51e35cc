"""The parts of a lab that are found in the records of a run, as `run.json` has them afterwards."""

from __future__ import annotations

from dataclasses import dataclass

from netwarp.lab_format.objects import LabObject


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundNode(LabObject):
    """A network namespace of a command's network; it `copies` if it may send more or other packets than it received."""

    name: str
    forward: bool
    copies: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundQueue(LabObject):
    """A queueing discipline in tc's syntax: its kind, and its known options."""

    kind: str
    options: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundLoss(LabObject):
    """Independent losses."""

    model: str = "random"
    p: float
    correlation: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundWire(LabObject):
    """The properties of a link as given to tc; the rate is None if unknown."""

    rate_bps: int | None
    delay_ns: int
    jitter_ns: int
    loss: FoundLoss | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundEnd(LabObject):
    """An interface with its rate, queue and wire."""

    name: str
    node: str
    interface: str
    index: int
    queue: FoundQueue | None
    wire: FoundWire
    found: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundInterface(FoundEnd):
    """An interface that is not an end of a link."""

    kind: str
    mtu: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundLink(LabObject):
    """A link and its two ends."""

    name: str
    mtu: int
    offload: bool
    ends: tuple[FoundEnd, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundChange(LabObject):
    """The state of an end from `at_ns` on."""

    at_ns: int
    link: str
    node: str
    interface: str
    index: int
    rate_bps: int | None
    queue: FoundQueue | None
    wire: FoundWire


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundFlow(LabObject):
    """A direction of a connection, or a stream of datagrams, that brought payload."""

    group: str
    tool: str
    from_: str
    to: str
    source: str
    source_port: int
    destination: str
    destination_port: int
    start_ns: int
    duration_ns: int
    id: int = 0
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundNetwork(LabObject):
    """The network of a command."""

    nodes: tuple[FoundNode, ...]
    links: tuple[FoundLink, ...]
    interfaces: tuple[FoundInterface, ...]
    flows: tuple[FoundFlow, ...]
    changes: tuple[FoundChange, ...]
