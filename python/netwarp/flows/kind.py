"""What a kind of flow is: one record for everything that other stages ask, and what all models have in common."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, PlainSerializer, ValidationInfo, ValidatorFunctionWrapHandler, WrapValidator

from netwarp.fields import Distribution, Duration, Model, Name, PositiveDuration, about, kind
from netwarp.files import folder_in
from netwarp.lab_format.own_fields import OwnFields
from netwarp.module import control_identity, is_file, load_control, place_of


def _control(value: object, handler: ValidatorFunctionWrapHandler, info: ValidationInfo) -> Any:
    """A name, or the one congestion control of a file."""
    if isinstance(value, str) and is_file(value):
        return load_control(value, folder_in(info.context, place_of(value)))
    return handler(value)


CongestionControl = Annotated[
    str,
    Field(pattern=(_CC := r"^[a-z][a-z0-9_]{0,14}$")),
    WrapValidator(_control),
    PlainSerializer(control_identity),
    kind("congestion control", "cubic", "bbr", "file:./tcp_mine.c window=50", pattern=f"{_CC}|^file:.+$"),
]
TOOL = "What generates the traffic."
CC = (
    "The sender's congestion control: any that the kernel or one of `modules` provides, or `file:` and the C file of a "
    "module that registers one, with its parameters ([modules.md](modules.md))."
)
Transport = Literal["tcp", "udp", "icmp", "sctp", "udplite"]
COUNTED: Mapping[int, Transport] = {6: "tcp", 17: "udp", 132: "sctp", 136: "udplite"}
"""By IP protocol number the transports whose receivers count what arrives; of another no goodput is known."""


class FlowBase(Model):
    """What every flow has: its ends, how many of it, and when."""

    if TYPE_CHECKING:
        tool: str

    from_: Name = about("The node that sends.", "h1", refused=["h9"], alias="from")
    to: Name = about("The node that receives.", "h2", refused=["h1"])
    count: int = about(
        "Number of flows in this group; 0 means none, as in a case without them. If there are several, they are named "
        "`group.0`, `group.1` …",
        4,
        refused=[-1, 1001],
        default=1,
        ge=0,
        le=1000,
        strict=True,
    )
    start: Duration = about(
        "When it starts. Its start phase, drawn from the seed within `run.start_jitter`, is added.",
        "2s",
        refused=["10s"],
        default=0,
    )
    duration: PositiveDuration | None = about(
        "How long it lasts; to the end of the run unless given.", "5s", refused=["11s"], default=None
    )
    family: Literal["ipv4", "ipv6"] = about("The version of IP.", "ipv6", refused=["ipv5"], default="ipv4")

    @property
    def starts_together(self) -> bool:
        """Whether all flows of the group have one start phase, and so start in the same instant."""
        return False

    def problems(self) -> Iterator[tuple[str, str]]:
        """What is wrong among its own fields: `(field, sentence)`."""
        yield from ()

    def lab_fields(self, mtu: int) -> OwnFields:
        """The kind's own fields in the lab, in integers with their unit in the name.

        `mtu` is the smallest on the flow's path.
        """
        raise NotImplementedError


@dataclass(frozen=True)
class FlowKind:
    """What one kind of flow is. Every stage asks this record, and none asks for a tool by its name.

    The defaults are what is assumed of a kind that this version does not know, which may stand in a result.
    """

    tool: str
    """What a scenario calls it."""
    model: type[FlowBase] = FlowBase
    transport: Transport | None = None
    """None if unknown, as for a user's own program. See `transport_of`."""
    reverse: bool = False
    """Whether the data that is measured goes from the flow's destination to its source. See `is_reverse`."""
    built_in: bool = False
    """Whether the agent itself sends and receives, rather than a program of the host."""
    greedy: bool = False
    """Whether it always has data to send, so that a limit other than the network's is a fault of the set-up."""
    counts_for_fairness: bool = False
    """Whether it takes what share of a bottleneck it can get: over TCP, Jain's index is of such flows."""
    probe: bool = False
    """Whether its round trips measure latency. Probes are no load, and they have no fair share."""
    requests: bool = False
    """Whether it makes requests one after another, of which each has its completion time and all have a rate."""
    connects: bool = False
    """Whether a flow without an instant of connection has failed."""
    datagrams: bool = False
    """Whether `datagrams.arrows` has every datagram that arrived, and the flow's account how many were sent."""
    poisson_arrivals: bool = False
    """Whether its packets are a Poisson process."""
    found: bool = False
    """Whether it was found in records, so that nobody planned it and it has no account of its own."""
    owns_sockets: bool = False
    """Whether its connections are those of the sockets that its programs make, as they are found in the records."""
    ports: tuple[bool, bool] = (True, True)
    """Whether the lab decides the port at its source (of echo requests the identifier) and that at its destination."""
    control_connection: bool = False
    """Whether its program agrees on a test over a first connection, so that its life is that of the test."""
    whole_seconds: bool = False
    """Whether its program takes whole seconds for how long it is to send."""
    varies: tuple[str, ...] = ()
    """What of it may change while it runs: `rate`, `think`, or `active`, how many of the group are."""
    programs: Mapping[str, str] = field(default_factory=dict)
    """Programs of the host that it always starts, with their Debian packages."""
    command_fields: tuple[str, ...] = ()
    """Fields that are a program and its arguments."""
    argument_fields: tuple[str, ...] = ()
    """Fields that are arguments of a program, among which may be absolute paths of files."""

    def transport_of(self, lab_fields: OwnFields) -> Transport | None:
        """The transport of one flow by its fields in the lab."""
        return self.transport

    def connections_of(self, lab_fields: OwnFields) -> int:
        """How many connections one flow has, each with a thread of the agent at both of its ends."""
        return 1

    def is_reverse(self, lab_fields: OwnFields) -> bool:
        """Whether the data of one flow, by its fields in the lab, goes from destination to source."""
        return self.reverse


def spread_fields(name: str, unit: str, spread: Distribution) -> OwnFields:
    """A quantity with its distribution as the lab has it."""
    return {f"{name}_{unit}": spread.mean, f"{name}_distribution": spread.distribution}
