"""The shape of a lab, the field `lab` of `run.json`: times are ns, rates bit/s, probabilities 0..1.

The builder (`netwarp.lab`) makes it, engines execute it, the store loads it; nothing looks into JSON of a lab.
`make generate` derives from it the agent's structs, `docs/lab.md`, the JSON Schema beside it, and an example that the
agent's tests read. The agent refuses fields that it does not know. Defaults are for fields that results of older
versions, and imported ones, do not have; an engine gets all fields except those that are found after the run.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, PlainValidator, TypeAdapter

from netwarp.lab_format.links import LabEnd, LabLink, LabNewQueue
from netwarp.lab_format.nodes import LabFlowRoute, LabNode, LabRoute
from netwarp.lab_format.objects import FOUND, SPREAD, LabObject, known_and_others
from netwarp.lab_format.own_fields import OwnFields, read_own
from netwarp.lab_format.quantities import (
    Address,
    Delay,
    Int64,
    Name,
    Port,
    Rate,
    Settings,
    Text,
    Time,
    UInt32,
    UInt64,
    Words,
    Yes,
    meaning,
)
from netwarp.lab_format.wires import LabWire
from netwarp.values.fields import Shape

LabFamily = Literal["ipv4", "ipv6"]
"""The version of a flow's addresses."""
LabDistribution = Shape
"""The distribution of a quantity around its mean. `pareto` is heavy-tailed: of shape 1.2, so of infinite variance, as
sizes of files on the Web are (Crovella, Bestavros 1997, IEEE/ACM ToN 5(6): shapes of 1.1 to 1.3)."""
LabRecorded = Literal["none", "acks", "packets"]
"""The records of a command's network."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabMachine(LabObject):
    """The whole machine: sysctls in the order in which they are set, and how many files a process may have open."""

    sysctl: Annotated[Settings, meaning("names and values, in the order in which they are set")] = field(
        default_factory=dict
    )
    open_files: Annotated[UInt64, meaning("how many files each process may have open")] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LabProgram(LabObject):
    """A program on the host that decides a congestion control; the engine starts it."""

    place: Annotated[str, meaning("its path in the scenario; `-` is the caller of the run")]
    arguments: Annotated[tuple[str, ...], meaning("its arguments")] = ()
    files: Annotated[Settings, meaning("it and the files that its arguments name, by name: a character is a byte")] = (
        field(default_factory=dict)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LabModule(LabObject):
    """A kernel module of the scenario, compiled for the kernel of the run and loaded before anything else."""

    name: Annotated[str, meaning("the name of its file or directory")]
    place: Annotated[str, meaning("its path in the scenario")] = ""
    files: Annotated[Settings, meaning("its sources by their paths")] = field(default_factory=dict)
    parameters: Annotated[Settings, meaning("names and values")] = field(default_factory=dict)
    program: Annotated[LabProgram | None, meaning("the program that decides the congestion control, if one does")] = (
        None
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LabWires(LabObject):
    """The hidden network namespace that holds the wires."""

    sysctl: Annotated[Settings, meaning("names and values, in the order in which they are set")] = field(
        default_factory=dict
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LabCondition(LabObject):
    """A state of a sender: the first ACK after which it holds brings a change.

    Changes of one link happen in the order of their numbers, each after the one before.
    """

    number: Annotated[UInt32, meaning("the change's number in the scenario; both ends of a link share it")]
    flow: Name
    source_port: Annotated[Port, meaning("the port at the end of the connection that sends data")]
    destination_port: Port
    variable: Annotated[str, meaning("a column of `acks`, or a variable that the congestion control exports")]
    relation: Annotated[str, meaning("<, <=, >, >=, == or !=")]
    value: Annotated[Int64, meaning("in the unit of the column")]

    def __str__(self) -> str:
        """The condition in a scenario's syntax, with the value in the unit of its column."""
        return f"{self.flow}.{self.variable} {self.relation} {self.value}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LabChange(LabObject):
    """A change of one end of a link at `at_ns`: its shaper's rate, its queue, the whole wire.

    None means unchanged. With a condition, `at_ns` is the time from which this counts; after the run, when it held.
    """

    at_ns: Time
    link: str = ""
    node: str = ""
    interface: str = ""
    index: Annotated[UInt32, meaning("ifindex of the end that changes")]
    rate_bps: Annotated[Rate | None, meaning("the new rate of its shaper")] = None
    queue: LabNewQueue | None = None
    tc: Annotated[Words, meaning("lines for tc that change the queue; the agent runs them")] = ()
    wire: Annotated[LabWire | None, meaning("the whole wire afterwards")] = None
    when: Annotated[LabCondition | None, meaning("null: at its time")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LabParts(LabObject):
    """A network in several machines at once: each builds all of it and runs the nodes of one part."""

    own: Annotated[UInt32, meaning("the part that this machine runs")] = 0
    count: UInt32
    window_ns: Annotated[Delay, meaning("how far no machine is ahead of another: at most the delay between parts")]
    ring_bytes: Annotated[UInt64, meaning("the room for frames on the way from one part to another")]


@dataclass(frozen=True, slots=True, kw_only=True)
class LabTuner(LabObject):
    """A program that tunes a node, from before the flows to the run's end."""

    node: str
    program: Annotated[Words, meaning("the program and its arguments")]


@dataclass(frozen=True, slots=True, kw_only=True)
class LabCapture(LabObject):
    """A packet capture on one interface."""

    link: str
    node: str
    interface: str = ""
    index: UInt32
    snap: Annotated[UInt32, meaning("the captured bytes of each packet")] = 0
    filter: Annotated[str | None, meaning("in the syntax of pcap-filter(7); null: every packet")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LabExec(LabObject):
    """A command that is the whole run and builds its network, or runs in a node of the lab."""

    command: Annotated[Words, meaning("the program and its arguments")]
    directory: Annotated[str, meaning("its working directory")] = ""
    env: Annotated[Settings, meaning("its whole environment")] = field(default_factory=dict)
    record: Annotated[LabRecorded, meaning("records of its network: ACKs and arrivals, or packets as well")] = "none"
    rate_bps: Annotated[Rate | None, meaning("the rate of each veth and loopback without another; null: none")] = None
    start_ns: Annotated[
        tuple[UInt64, ...],
        meaning("quantiles of the time that each program takes to start, at equal steps from 0 to 1; empty: none"),
    ] = ()
    syscall_ns: Annotated[Delay, meaning("the time of each system call of its programs")] = 0
    clock_off_ns: Annotated[
        tuple[Int64, ...],
        meaning(
            "how far CLOCK_REALTIME of each network namespace but the first is ahead: quantiles at equal steps from "
            "0 to 1; empty: all are right"
        ),
    ] = ()
    compute: Annotated[
        Yes, meaning("whether computing takes as long as on the host; such a run cannot be repeated")
    ] = False
    node: Annotated[str | None, meaning("the node in which it starts; null: it makes its network")] = None
    input: Annotated[str | None, meaning("its standard input")] = None
    terminal: Annotated[Yes, meaning("whether it has an interactive terminal")] = False
    pace: Annotated[float | None, meaning("at a terminal: the most seconds of its time per second of real time")] = None
    control: Annotated[
        Yes,
        meaning("whether it finds this lab in `/run/netwarp-lab.json` and changes links by `/run/netwarp-control`"),
    ] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LabRecord(LabObject):
    """The agent's records."""

    exact: Annotated[Yes, meaning("packets, drops, ACKs and arrivals, by the kernel's recorder")] = False
    sample_ns: Annotated[
        Time, meaning("interval between samples of sockets, queues and links; 0: only one at the end")
    ] = 0
    captures: tuple[LabCapture, ...] = ()
    kept_bytes: Annotated[
        UInt64, meaning("the maximum kept of each stream that a command prints, and of all files that commands leave")
    ] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LabFlowChange(LabObject):
    """The state of a flow from `at_ns` on. `rate_bps`, or `think_ns` and its distribution, are None if its kind has
    none."""

    at_ns: Annotated[Time, meaning("from t0")]
    active: Annotated[Yes, meaning("whether it sends, or makes requests")]
    rate_bps: Annotated[Rate | None, meaning("the rate of UDP sources")] = None
    think_ns: Annotated[Int64 | None, meaning("mean of the pauses that begin from then on")] = None
    think_distribution: LabDistribution | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LabConnection(LabObject):
    """A five-tuple of a flow's data, found after the run."""

    protocol: Annotated[int, Field(strict=True, ge=0, lt=256)]
    source: Address
    source_port: Port
    destination: Address
    destination_port: Port


@dataclass(frozen=True, slots=True, kw_only=True)
class LabSocketOption(LabObject):
    """A whole number that setsockopt(2) sets on each socket of a flow, at both ends, before it connects."""

    name: Annotated[Text, meaning("its name in C, for messages")]
    level: UInt32
    option: UInt32
    value: Annotated[Int64, meaning("its lower 32 bits are passed")]


@dataclass(frozen=True, slots=True, kw_only=True)
class LabFlow(LabObject):
    """A flow: the fields that every flow has, followed by those of its tool."""

    id: Annotated[int, Field(strict=True, ge=0, lt=2**32)]
    name: Annotated[Name, meaning("the group's name alone if it has one flow, else with its number: `bulk.0`")]
    group: Annotated[Name, meaning("its name in the scenario")]
    tool: Text
    from_: Annotated[Text, Field(alias="from", description="node")] = ""
    to: Annotated[Text, meaning("node")] = ""
    family: LabFamily = "ipv4"
    source: Address
    destination: Address
    source_port: Annotated[Port, meaning("20000 + id")] = 0
    destination_port: Annotated[Port, meaning("5001 + id")] = 0
    start_ns: Annotated[Time, meaning("from t0, with the seeded offset")]
    duration_ns: Annotated[Time, meaning("within the run")] = 0
    seed: Annotated[UInt64, meaning("the seed of everything random in this flow")] = 0
    changes: Annotated[
        tuple[LabFlowChange, ...], meaning("in order of time; before the first one its fields apply")
    ] = ()
    sockets: Annotated[tuple[LabSocketOption, ...], meaning("options of its sockets, in this order")] = ()
    own: Annotated[OwnFields, PlainValidator(read_own)] = field(default_factory=dict, metadata=SPREAD)
    """The fields of its tool."""
    source_ports: tuple[Port, ...] = field(default=(), metadata=FOUND)
    """The source ports of all its connections if they are known (imported results)."""
    connections: tuple[LabConnection, ...] = field(default=(), metadata=FOUND)
    """The five-tuples of its data if they were found after the run, as for a command."""
    logged_datagram_bytes: int = field(default=0, metadata=FOUND)
    """The UDP payload of its full packets if a program logged it as a QUIC sender (qlog)."""

    @property
    def cc(self) -> str:
        """Its congestion control; empty if it has none, or if it is unknown."""
        return str(self.own.get("cc") or "")

    @property
    def protocol(self) -> str:
        """The protocol, if its kind leaves it to each flow: iperf3's `tcp` or `udp`."""
        return str(self.own.get("protocol") or "")

    @property
    def payload_bytes(self) -> int | None:
        """The amount that a flow of a given size sends."""
        size = self.own.get("bytes")
        return size if isinstance(size, int) and size else None

    def number(self, name: str) -> int:
        """A field of its tool that is a whole number. Raises KeyError if it is missing or not a number."""
        value = self.own[name]
        if not isinstance(value, int):
            raise KeyError(name)
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class LabInterface(LabEnd):
    """An interface that was found and is not an end of a link."""

    kind: str = ""
    mtu: UInt32 = 1500


def _with_own(value: Any) -> Any:
    return known_and_others(value, LabFlow)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lab(LabObject):
    """The whole lab of one run."""

    format: Annotated[UInt32, meaning("version of the lab's format")] = 0
    seed: Annotated[UInt64, meaning("the run's seed")] = 0
    t0_ns: Annotated[Time, meaning("CLOCK_MONOTONIC of the machine at which the run's clock starts")] = 0
    duration_ns: Annotated[Time, Field(ge=0, description="the run ends at t0 + duration")]
    machine: LabMachine = LabMachine()
    modules: Annotated[tuple[LabModule, ...], meaning("in the order in which they are loaded")] = ()
    wire: LabWires = LabWires()
    nodes: tuple[LabNode, ...] = ()
    links: Annotated[tuple[LabLink, ...], meaning("in file order")] = ()
    routes: tuple[LabRoute, ...] = ()
    flow_routes: Annotated[tuple[LabFlowRoute, ...], meaning("routes of flows with separate metrics")] = ()
    flows: Annotated[
        tuple[Annotated[LabFlow, BeforeValidator(_with_own)], ...],
        meaning("one entry for each single flow: `count = 3` gives three"),
    ]
    changes: Annotated[
        tuple[LabChange, ...], meaning("in order of time; one entry for each end of a link that changes")
    ] = ()
    tuners: Annotated[tuple[LabTuner, ...], meaning("programs that tune nodes")] = ()
    record: LabRecord = LabRecord()
    parts: Annotated[LabParts | None, meaning("null: one machine runs the whole network")] = None
    exec: Annotated[LabExec | None, meaning("null: the lab is a network with flows")] = None
    interfaces: tuple[LabInterface, ...] = field(default=(), metadata=FOUND)
    warmup_ns: Time = field(default=0, metadata=FOUND)

    @property
    def ends(self) -> tuple[LabEnd, ...]:
        """Both ends of all links, in order."""
        return tuple(end for link in self.links for end in link.ends)

    @property
    def has_output(self) -> bool:
        """Whether the output of its command is the run's."""
        return self.exec is not None

    @property
    def is_session(self) -> bool:
        """Whether its command has an interactive terminal."""
        return self.exec is not None and self.exec.terminal

    @property
    def takes_host_time(self) -> bool:
        """Whether its command's computing takes as long as on the host."""
        return self.exec is not None and self.exec.compute


@cache
def lab_reader() -> TypeAdapter[Lab]:
    """The reader of labs, built once in a process, which takes as long as reading the records of a short run."""
    return TypeAdapter(Lab)


def read_lab(value: object) -> Lab:
    """Load a lab from its JSON; a lab is one already. Raises ValidationError."""
    return value if isinstance(value, Lab) else lab_reader().validate_python(value)
