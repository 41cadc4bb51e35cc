"""A kind of flow: one record for everything that other stages need to know, and the fields that all models share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, cast

from pydantic import Field, PlainSerializer, ValidationInfo, ValidatorFunctionWrapHandler, WrapValidator

from netwarp.flows.transfer_size import mean_of
from netwarp.lab_format.objects import LabObject
from netwarp.lab_format.own_fields import OwnFields
from netwarp.modules.named import control_identity, is_loaded, load_control, place_of
from netwarp.values.constants import ETHERNET_HEADER_BYTES, IP_HEADER_BYTES
from netwarp.values.fields import DrawnDuration, DrawnPositiveDuration, Model, Name, about, kind
from netwarp.values.files import folder_in, is_given_in
from netwarp.values.units import format_duration


def _control(value: object, handler: ValidatorFunctionWrapHandler, info: ValidationInfo) -> Any:
    """Read a name, the only congestion control of a file, or a program."""
    if isinstance(value, str) and is_loaded(value):
        folder = folder_in(info.context, place_of(value))
        return load_control(value, folder, is_given=is_given_in(info.context, value))
    return handler(value)


CC_PATTERN = r"^[a-z][a-z0-9_]{0,14}$"
"""The names of congestion controls in the kernel."""
CongestionControl = Annotated[
    str,
    Field(pattern=CC_PATTERN),
    WrapValidator(_control),
    PlainSerializer(control_identity),
    kind(
        "congestion control",
        "cubic",
        "bbr",
        "file:./tcp_mine.c window=50",
        pattern=f"{CC_PATTERN}|^file:.+$|^program:.+$",
    ),
]
TOOL = "The generator of the traffic."
CC = (
    "The sender's congestion control: any that the kernel or one of `modules` provides, or `file:` and the C file of a "
    "module that registers one, with its parameters ([modules.md](modules.md)), or `program:` and a program on the "
    "host that decides it ([learning.md](learning.md))."
)
Transport = Literal["tcp", "udp", "icmp", "sctp", "udplite"]
COUNTED: Mapping[int, Transport] = {6: "tcp", 17: "udp", 132: "sctp", 136: "udplite"}
"""IP protocol number → transport, if receivers count its arrivals; the goodput of other protocols is unknown."""


@dataclass(frozen=True)
class FlowPath:
    """The properties of a flow's path that its fields in the lab depend on: its smallest MTU in bytes, and the initial
    rate of its slowest link in bit/s (the average if that has delivery opportunities), and the rates of links by name,
    each in the direction of the path."""

    mtu: int
    rate_bps: int
    rates_bps: Mapping[str, int] = field(default_factory=dict)


class Datagram(NamedTuple):
    """The datagrams of a flow whose size a field of the scenario decides."""

    field: str
    payload_bytes: int
    ip_payload_bytes: int
    """The same with the transport's header."""
    may_be_fragmented: bool = True
    learns_mtu: bool = False
    """Whether its sender goes on, with fragments, when a router says that a packet is too big; others fail."""


class FlowBase(Model):
    """The fields of every flow: its ends, its count, and its time."""

    if TYPE_CHECKING:
        tool: str

    from_: Name = about("The node that sends.", "h1", refused=["h9"], alias="from")
    to: Name = about("The node that receives.", "h2", refused=["h1"])
    count: int = about(
        "Number of flows in this group; 0 means none, as in a case without them. If there are several, they are named "
        "`group.0`, `group.1` …",
        4,
        refused=[-1, 10_001],
        default=1,
        ge=0,
        le=10_000,
        strict=True,
    )
    start: DrawnDuration = about(
        "When the flow starts. Its start phase, drawn from the seed within `run.start_jitter`, is added. With a "
        "distribution, such as `2s exponential`, each flow of the group draws its own, again until it is within the "
        "run.",
        "2s",
        "2s exponential",
        refused=["10s", "2s gaussian"],
        default=0,
    )
    duration: DrawnPositiveDuration | None = about(
        "How long the flow lasts; default: to the end of the run. With a distribution each flow of the group draws its "
        "own, which the end of the run cuts.",
        "5s",
        "3s pareto",
        refused=["11s", 0],
        default=None,
    )
    family: Literal["ipv4", "ipv6"] = about("The version of IP.", "ipv6", refused=["ipv5"], default="ipv4")

    @property
    def ip_header_bytes(self) -> int:
        """The size of an IP header of its family."""
        return IP_HEADER_BYTES[int(self.family[-1])]

    @property
    def starts_together(self) -> bool:
        """Whether all flows of the group share a start phase, and so start at the same instant."""
        return False

    @property
    def has_own_control(self) -> bool:
        """Whether its congestion control is its library's, and not the kernel's."""
        return False

    @property
    def most_open(self) -> int | None:
        """The connections that it can have open at once; None if their number does not depend on the network."""
        return None

    @property
    def datagram(self) -> Datagram | None:
        """Its datagrams, if the author decides their size."""
        return None

    @property
    def named_links(self) -> Mapping[str, Sequence[str] | None]:
        """The fields that name links of its sender, each with these; None: all of them."""
        return {}

    @property
    def links_on_path(self) -> Mapping[str, str]:
        """The fields that name a link of its path, each with that link."""
        return {}

    def carries(self, link: str) -> bool:
        """Whether a subflow may begin on a link of its sender that its route does not take."""
        return False

    def is_backup(self, link: str) -> bool:
        """Whether the subflow that begins on a link sends only while no other can."""
        return False

    def problems(self) -> Iterator[tuple[str, str]]:
        """Problems among its fields: `(field, sentence)`."""
        yield from ()

    def too_early(self, field: str, ahead_ns: int, does: str, lower: str) -> Iterator[tuple[str, str]]:
        """The problem of a flow that `does` something `ahead_ns` before its start, if that is before the run.

        `field` is the field of the scenario that asks for it, and `lower` the one that sets how long before.
        """
        if ahead_ns and not isinstance(self.start, int):
            yield (
                field,
                f"{does} ahead of one start, and `start` is drawn for each flow; give it without a distribution",
            )
        elif ahead_ns > (start := mean_of(self.start)):
            yield (
                field,
                f"{does} {format_duration(ahead_ns)} before its start at {format_duration(start)}, which is before the "
                f"run begins; start it later, or lower `{lower}`",
            )

    def lab_fields(self, path: FlowPath) -> LabObject:
        """The kind's fields in the lab: an object of the class `lab` of its kind."""
        raise NotImplementedError

    def offered_bytes(self, path: FlowPath, active_ns: int) -> float | None:
        """The bytes of frames of its data, with all headers, that it sends in a time if nothing hinders it.

        None: as many as the network takes, or a number that only the run shows.
        """
        return None

    def active_ns(self, run_ns: int) -> int:
        """How long it is active in a run of this duration, by the means of times that are drawn."""
        left_ns = run_ns - mean_of(self.start)
        return left_ns if self.duration is None else min(left_ns, mean_of(self.duration))

    def path_problems(self, path: FlowPath, active_ns: int) -> Iterator[tuple[str, str]]:
        """Find problems of this flow on its path: for each the field, and a sentence about it."""
        return iter(())

    def open_at_once(self, path: FlowPath, active_ns: int) -> float:
        """The connections of one flow that are open after this time because more begin than the path completes: 0 if
        it does, or if they wait for each other."""
        return 0.0

    def frame_bytes(self, path: FlowPath) -> float:
        """The mean length of a frame of its data, with all headers, in bytes."""
        return path.mtu + ETHERNET_HEADER_BYTES

    def own_fields(self, path: FlowPath) -> OwnFields:
        """The kind's fields by name, in the form of a lab's flow."""
        return cast(OwnFields, self.lab_fields(path).as_json())


@dataclass(frozen=True)
class FlowKind:
    """One kind of flow. Every stage asks this record, and none asks for a tool by its name.

    The defaults apply to a kind that this version does not know, which may occur in a result.
    """

    tool: str
    """Its name in a scenario."""
    model: type[FlowBase] = FlowBase
    lab: type[LabObject] = LabObject
    """Its fields in the lab: names of numbers end with their unit. The agent's struct is generated from it."""
    transport: Transport | None = None
    """The transport; None if unknown, as for a user's program. See `transport_of`."""
    reverse: bool = False
    """Whether the measured data goes from the flow's destination to its source. See `is_reverse`."""
    built_in: bool = False
    """Whether the agent itself sends and receives, rather than a program of the host."""
    greedy: bool = False
    """Whether it always has data to send, so that any limit but the network's is an error of the set-up."""
    counts_for_fairness: bool = False
    """Whether it takes as much of a bottleneck as it can get; Jain's index is over such flows of TCP and QUIC."""
    probe: bool = False
    """Whether its round trips measure latency. Probes are not load, and have no fair share."""
    requests: bool = False
    """Whether it makes requests one after another: each has a completion time, and together they have a rate."""
    new_connections: bool = False
    """Whether each transfer has its own connection, and several may be under way."""
    moved_by_kernel: bool = False
    """Whether netwarp's kernel moves its data, not threads of the agent, with the engine `uml`."""
    subflows: bool = False
    """Whether one connection consists of several of TCP, from different addresses to one port, and what its application
    gets is known from the application alone (`mptcp_reads`)."""
    connects: bool = False
    """Whether a flow that never connected has failed."""
    datagrams: bool = False
    """Whether `datagrams.arrows` has every arrived datagram, and the flow's account the number of sent ones."""
    media: bool = False
    """Whether its datagrams are frames that are played out, and late after that."""
    quic: bool = False
    """Whether it is QUIC: its congestion controls are not the kernel's, and its ends write their own records
    (`quic_acks`, `quic_arrivals`)."""
    pages: bool = False
    """Whether it loads pages over HTTP, which `pages` and `objects` record."""
    video: bool = False
    """Whether it plays a video, which `segments` and `playback` record."""
    poisson_arrivals: bool = False
    """Whether its packets are a Poisson process."""
    found: bool = False
    """Whether it was found in records, not planned, so that it has no account."""
    owns_sockets: bool = False
    """Whether its connections are those of its programs' sockets, which are found in the records."""
    ports: tuple[bool, bool] = (True, True)
    """Whether the lab sets the port at its source (for echo requests the identifier), and that at its destination."""
    control_connection: bool = False
    """Whether its program negotiates a test over a first connection, which lasts as long as the test."""
    whole_seconds: bool = False
    """Whether its program takes its duration in whole seconds."""
    varies: tuple[str, ...] = ()
    """The properties that may change while it runs: `rate`, `think`, or `active` (the number of active flows)."""
    programs: Mapping[str, str] = field(default_factory=dict)
    """Programs of the host that it always starts, with their Debian packages."""
    command_fields: tuple[str, ...] = ()
    """Fields that are a program and its arguments."""
    argument_fields: tuple[str, ...] = ()
    """Fields that are arguments of a program, among which may be absolute paths of files."""

    @property
    def reconnects(self) -> bool:
        """Whether its connections come and go while it lasts."""
        return self.new_connections or self.pages

    def transport_of(self, lab_fields: OwnFields) -> Transport | None:
        """The transport of one flow by its fields in the lab."""
        return self.transport

    def connections_of(self, lab_fields: OwnFields) -> int:
        """The number of connections of one flow, each with a thread at both ends."""
        return 1

    def is_reverse(self, lab_fields: OwnFields) -> bool:
        """Whether the data of one flow, by its fields in the lab, goes from destination to source."""
        return self.reverse
