"""The shape of a lab, the field `lab` of `run.json`: times are ns, rates bit/s, probabilities 0..1.

`make generate` writes what follows from it: `docs/lab.md`, the JSON Schema beside it, and an example that the agent's
tests read. The agent refuses fields that it does not know.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field
from typing_extensions import TypedDict

from netwarp.lab_format.wires import PROPERTIES

T0_NS = 10 * 10**9
FIRST_INDEX = 11
WIRE_OFFSET = 100_000


def meaning(text: str) -> Any:
    """What a field means, for `docs/lab.md` and the JSON Schema."""
    return Field(description=text)


class LabMachine(TypedDict):
    """The whole machine: sysctls in the order in which they are set, and how many files a process may have open."""

    sysctl: Annotated[dict[str, str], meaning("names and values, in the order in which they are set")]
    open_files: Annotated[int, meaning("how many files each process may have open")]


class LabModule(TypedDict):
    """A kernel module of the scenario's own, compiled for the kernel of the run and loaded before anything else."""

    name: Annotated[str, meaning("of its file or directory")]
    place: Annotated[str, meaning("where the scenario says that it is")]
    files: Annotated[dict[str, str], meaning("its sources by their paths")]
    parameters: Annotated[dict[str, str], meaning("names and values")]


class LabWires(TypedDict):
    """The hidden network namespace that holds the wires."""

    sysctl: Annotated[dict[str, str], meaning("names and values, in the order in which they are set")]


class LabNode(TypedDict):
    """A network namespace, with its sysctls in the order in which they are set."""

    name: Annotated[str, meaning("its name in the scenario")]
    forward: Annotated[bool, meaning("whether it forwards packets (its sysctls contain this, too)")]
    sysctl: Annotated[
        dict[str, str],
        meaning("names and values, in the order in which they are set: every one that is not the kernel's default"),
    ]
    syscall_ns: Annotated[int, meaning("what each system call takes of programs that run here")]


if TYPE_CHECKING:
    LabWire = dict[str, Any]
else:
    LabWire = TypedDict(
        "LabWire",
        {
            "rate_bps": Annotated[int | None, meaning("null: no serialisation delay, as with opportunities")],
            **{
                field.name: Annotated[field.type, meaning(field.meaning)] if field.meaning else field.type
                for found in PROPERTIES
                for field in found.fields
            },
            "limit_pkts": Annotated[int, meaning("limit of the netem; more than it can ever hold")],
            "seed": Annotated[int, meaning("of its random numbers")],
        },
    )
    LabWire.__doc__ = """One direction of a link's wire: a netem on the peer's interface in the hidden namespace.

    `rate_bps` None: no serialisation delay, because the opportunities have let the packet pass whole.
    """


class LabOpportunities(TypedDict):
    """Delivery opportunities in place of a rate, at the milliseconds of `trace`, repeated every `period_ms`.

    `17x3 20` means three at 17 ms and one at 20 ms; it is text because there may be a million. Each lets `bytes` pass;
    a packet counts as its frame plus `overhead_bytes`. Opportunities after the end of the run are left out; the mean
    is of the whole trace.
    """

    bytes: Annotated[int, meaning("what one opportunity lets pass")]
    overhead_bytes: Annotated[int, meaning("bytes that count for a packet in addition to its frame")]
    period_ms: Annotated[int, meaning("period after which the trace repeats")]
    mean_rate_bps: Annotated[int, meaning("of the whole trace")]
    trace: Annotated[str, meaning("milliseconds, each with the number of opportunities")]


class LabShaper(TypedDict):
    """The rate of a link where packets are sent into it: an htb class. Its quantum is a full frame.

    In virtual time its buckets hold one byte, so packets are spaced exactly. In real time they hold the bytes of
    `burst_ns` at the rate; otherwise each late timer would cost throughput.
    """

    rate_bps: Annotated[int, meaning("of the class and its ceiling")]
    quantum_bytes: Annotated[int, meaning("a full frame")]
    burst_ns: Annotated[int, meaning("size of its buckets, as time at the rate; 0: one byte")]


class LabQueue(TypedDict):
    """A queueing discipline: its major handle, its kind, its options in tc's syntax (`["limit", "100"]`)."""

    handle: Annotated[int, meaning("major number, which tc writes in hexadecimal")]
    kind: Annotated[str, meaning("pfifo, red, fq_codel …")]
    options: Annotated[list[str], meaning('in the syntax of tc: `["limit", "100"]`')]


class LabNewQueue(LabQueue):
    """A queue from an instant of the run on: the present one changed `in_place`, or another that replaces it."""

    in_place: Annotated[bool, meaning("the present queue is changed; otherwise it is replaced")]


class LabEnd(TypedDict):
    """One end of a link: a node's interface, what it sends through, and the wire that leaves it.

    Packets go through `shaper` or `opportunities`, whose child is `queue`; or through what the scenario's own tc
    commands (`raw`) set up, and then these three are None.
    """

    node: str
    interface: Annotated[str, meaning("its name on the node")]
    index: Annotated[int, meaning("ifindex, unique in the whole lab")]
    wire_index: Annotated[int, meaning("of the peer in the namespace of the wires")]
    mac: str
    addresses: Annotated[list[str], meaning("with the length of their prefix")]
    shaper: Annotated[LabShaper | None, meaning("null: no rate, or `raw`")]
    opportunities: Annotated[LabOpportunities | None, meaning("in place of a rate")]
    queue: Annotated[LabQueue | None, meaning("child of either; null with `raw`")]
    raw: Annotated[list[str] | None, meaning("tc commands of the scenario's own, in place of these three")]
    wire: Annotated[LabWire, meaning("the direction that leaves this end: a netem at the peer's wire interface")]


class LabLink(TypedDict):
    """A link and its two ends."""

    name: str
    mtu: Annotated[int, meaning("bytes")]
    offload: Annotated[bool, meaning("segmentation offloads and aggregation at both nodes")]
    ends: Annotated[list[LabEnd], meaning("exactly two")]


class LabRoute(TypedDict):
    """A route by prefix on one node."""

    node: str
    prefix: Annotated[str, meaning("adjacent subnets with the same next hop share one, such as 10.0.2.0/23")]
    via: str
    interface: str


class LabChange(TypedDict):
    """What changes at one end of a link at `at_ns`: its shaper's rate, its queue, the whole wire.

    None is unchanged.
    """

    at_ns: int
    link: str
    node: str
    interface: str
    index: Annotated[int, meaning("of the end that changes")]
    rate_bps: Annotated[int | None, meaning("of its shaper")]
    queue: LabNewQueue | None
    wire: Annotated[LabWire | None, meaning("the whole wire afterwards")]


class LabTuner(TypedDict):
    """A program that tunes a node by itself, from before the flows to the run's end."""

    node: str
    program: Annotated[list[str], meaning("its words")]


class LabCapture(TypedDict):
    """A packet capture on one interface."""

    link: str
    node: str
    interface: str
    index: int
    snap: Annotated[int, meaning("bytes of each packet")]
    filter: Annotated[str | None, meaning("in the syntax of pcap-filter(7); null: every packet")]


class LabExec(TypedDict):
    """A command that is the whole run: it builds its own network."""

    command: Annotated[list[str], meaning("the program and its arguments")]
    directory: Annotated[str, meaning("where it starts")]
    env: Annotated[dict[str, str], meaning("its whole environment")]
    record: Annotated[
        Literal["none", "acks", "packets"], meaning("of its network: only ACKs and arrivals, or packets as well")
    ]
    rate_bps: Annotated[int | None, meaning("of each veth and loopback without another rate; null: none")]
    start_ns: Annotated[
        list[int],
        meaning("of the time that each program takes to start: quantiles at equal steps from 0 to 1; empty: none"),
    ]
    syscall_ns: Annotated[int, meaning("what each system call of its programs takes")]
    clock_off_ns: Annotated[
        list[int],
        meaning(
            "of how far CLOCK_REALTIME of each network namespace but the first is ahead: quantiles at equal steps from "
            "0 to 1; empty: all are right"
        ),
    ]
    compute: Annotated[bool, meaning("whether what they compute takes as long as on the host; no such run is repeated")]
    node: Annotated[str | None, meaning("where it starts; null: there is no network but what it makes")]
    input: Annotated[str | None, meaning("what it reads from standard input")]
    terminal: Annotated[bool, meaning("whether somebody sits at a terminal of it")]
    pace: Annotated[float | None, meaning("then: seconds of its time in one of real time, at most")]


class LabRecord(TypedDict):
    """What the agent records."""

    exact: Annotated[bool, meaning("packets, drops, ACKs and arrivals, by the kernel's recorder")]
    sample_ns: Annotated[int, meaning("interval between samples of sockets, queues and links; 0: only one at the end")]
    captures: list[LabCapture]
    kept_bytes: Annotated[
        int, meaning("kept at most of each stream that a command prints, and of all files that commands leave")
    ]


LabFlow = dict[str, Any]
"""One flow: the fields of `LabFlowHead`, and those of its tool."""


class LabFlowChange(TypedDict):
    """The state of a flow from `at_ns` on. `rate_bps`, or `think_ns` and its distribution, are None where its kind has
    none."""

    at_ns: Annotated[int, meaning("from t0")]
    active: Annotated[bool, meaning("whether it sends, or makes requests")]
    rate_bps: Annotated[int | None, meaning("of UDP sources")]
    think_ns: Annotated[int | None, meaning("mean of the pauses that begin from then on")]
    think_distribution: str | None


class LabFlowHead(TypedDict):
    """The fields that every flow has; those of its tool follow."""

    id: int
    name: Annotated[str, meaning("the group's name alone if it has one flow, else with its number: `bulk.0`")]
    group: Annotated[str, meaning("its name in the scenario")]
    tool: str
    from_: Annotated[str, Field(alias="from", description="node")]
    to: Annotated[str, meaning("node")]
    source: str
    destination: str
    source_port: Annotated[int, meaning("20000 + id")]
    destination_port: Annotated[int, meaning("5001 + id")]
    start_ns: Annotated[int, meaning("from t0, with the seeded offset")]
    duration_ns: Annotated[int, meaning("within the run")]
    family: Literal["ipv4", "ipv6"]
    seed: Annotated[int, meaning("of everything random in this flow")]
    changes: Annotated[list[LabFlowChange], meaning("in order of time; before the first one its fields apply")]


class Lab(TypedDict):
    """The whole lab of one run."""

    format: Annotated[int, meaning("version of the lab's format")]
    seed: Annotated[int, meaning("of the run")]
    t0_ns: Annotated[int, meaning("CLOCK_MONOTONIC of the machine at which the run's clock starts")]
    duration_ns: Annotated[int, meaning("the run ends at t0 + duration")]
    machine: LabMachine
    modules: Annotated[list[LabModule], meaning("in the order in which they are loaded")]
    wire: LabWires
    nodes: list[LabNode]
    links: Annotated[list[LabLink], meaning("in file order")]
    routes: list[LabRoute]
    flows: Annotated[list[LabFlow], meaning("one entry for each single flow: `count = 3` gives three")]
    changes: Annotated[list[LabChange], meaning("in order of time; one entry for each end of a link that changes")]
    tuners: Annotated[list[LabTuner], meaning("programs that tune nodes")]
    record: LabRecord
    exec: Annotated[LabExec | None, meaning("null: the lab is a network with flows")]
