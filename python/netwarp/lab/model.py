"""The shape of a lab: what `lab.json` holds (see ARCHITECTURE.md). Times are ns, rates bit/s, probabilities 0..1."""

from __future__ import annotations

from typing import Any, TypedDict

FORMAT = 3
T0_NS = 10 * 10**9
FIRST_INDEX = 11
WIRE_OFFSET = 100_000
FRAME_HEADER_BYTES = 14
"""The Ethernet header, which queues and wires count with every packet."""


class LabMachine(TypedDict):
    """The whole machine: sysctls in the order in which they are set, and how many files a process may have open."""

    sysctl: dict[str, str]
    open_files: int


class LabWires(TypedDict):
    """The hidden network namespace that holds the wires."""

    sysctl: dict[str, str]


class LabNode(TypedDict):
    """A network namespace, with its sysctls in the order in which they are set."""

    name: str
    forward: bool
    sysctl: dict[str, str]


class LabWire(TypedDict):
    """One direction of a link's wire: a netem on the peer's interface in the hidden namespace.

    `rate_bps` None: it takes no time to send a packet, since the shaper has let it pass whole.
    """

    rate_bps: int | None
    delay_ns: int
    jitter_ns: int
    jitter_correlation: float
    distribution: str | None
    loss: dict[str, Any] | None
    duplicate: float
    corrupt: float
    reorder: float
    limit_pkts: int
    seed: int


class LabOpportunities(TypedDict):
    """Delivery opportunities in place of a rate, at the milliseconds of `trace`, all again every `period_ms`.

    `17x3 20` are three at 17 ms and one at 20 ms: text, as there may be a million. Each lets `bytes` pass; a packet
    counts as its frame and `overhead_bytes`. What the run does not get to is left out; the mean is of the whole trace.
    """

    bytes: int
    overhead_bytes: int
    period_ms: int
    mean_rate_bps: int
    trace: str


class LabShaper(TypedDict):
    """The rate of a link where packets are sent into it: an htb class that spaces them exactly, its buckets holding
    one byte. Its quantum is a full frame."""

    rate_bps: int
    quantum_bytes: int


class LabQueue(TypedDict):
    """A queueing discipline: its major handle, its kind, its options in the words of tc (`["limit", "100"]`)."""

    handle: int
    kind: str
    options: list[str]


class LabNewQueue(LabQueue):
    """A queue from a moment of the run on: the one before changed `in_place`, or another that replaces it."""

    in_place: bool


class LabEnd(TypedDict):
    """One end of a link: a node's interface, what it sends through, and the wire that leaves it.

    Packets go through `shaper` or `opportunities`, beneath which is `queue`; or through what the scenario's own tc
    commands (`raw`) set up, and then the three are None.
    """

    node: str
    interface: str
    index: int
    wire_index: int
    mac: str
    addresses: list[str]
    shaper: LabShaper | None
    opportunities: LabOpportunities | None
    queue: LabQueue | None
    raw: list[str] | None
    wire: LabWire


class LabLink(TypedDict):
    """A link and its two ends."""

    name: str
    mtu: int
    offload: bool
    ends: list[LabEnd]


class LabRoute(TypedDict):
    """A route by prefix on one node."""

    node: str
    prefix: str
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
    index: int
    rate_bps: int | None
    queue: LabNewQueue | None
    wire: LabWire | None


class LabCapture(TypedDict):
    """A packet capture on one interface."""

    link: str
    node: str
    interface: str
    index: int
    snap: int
    filter: str | None


class LabRecord(TypedDict):
    """What the agent records."""

    exact: bool
    sample_ns: int
    captures: list[LabCapture]


LabFlow = dict[str, Any]
"""One flow. Its keys depend on the tool; those common to all are listed in ARCHITECTURE.md."""


class Lab(TypedDict):
    """The whole lab of one run."""

    format: int
    seed: int
    t0_ns: int
    duration_ns: int
    machine: LabMachine
    wire: LabWires
    nodes: list[LabNode]
    links: list[LabLink]
    routes: list[LabRoute]
    flows: list[LabFlow]
    changes: list[LabChange]
    record: LabRecord
