"""The description of a run: the parts of `run.json` and its lab that readers of records need."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from netwarp.flows import kind_of
from netwarp.flows.kind import FlowKind, Transport
from netwarp.flows.options.sockets import RECEIVE_BUFFER, SEND_BUFFER, UNSENT
from netwarp.lab_format.links import LabEnd, LabLink
from netwarp.lab_format.model import Lab, LabChange, LabFlow
from netwarp.lab_format.wires import PROPERTIES, LabWire, WireProperty
from netwarp.store.documents import RunDocument
from netwarp.store.errors import StoreError
from netwarp.store.opportunities import Opportunities, opportunities_of
from netwarp.values.json_values import Json
from netwarp.values.qdisc import Qdisc

Connection = tuple[int, str, int, str, int]
"""Protocol, source address and port, destination address and port."""


@dataclass(frozen=True)
class Flow:
    """One flow of the lab; `group` is its name in the scenario.

    Data goes from source to destination; if `reverse` (such as responses to requests), from destination to source.
    `send_buffer_given`, `receive_buffer_given`: the scenario sets the size of the sender's, receiver's buffer.
    `source_ports` are those of all its connections if they are known (imported results). `protocol` is set for kinds
    that leave it to each flow: iperf3's `tcp` or `udp`.
    `nodes` are those of source and destination, `cc` its congestion control; both are empty if the lab lacks them.
    `payload_bytes` is the amount that a flow of a given size sends. `connections` are the five-tuples of its data if
    they were found after the run, as for a command.
    """

    id: int
    name: str
    group: str
    tool: str
    source: str
    source_port: int
    destination: str
    destination_port: int
    start_ns: int
    duration_ns: int
    reverse: bool = False
    send_buffer_given: bool = False
    receive_buffer_given: bool = False
    source_ports: tuple[int, ...] = ()
    protocol: str = ""
    nodes: tuple[str, ...] = ()
    cc: str = ""
    payload_bytes: int | None = None
    connections: tuple[Connection, ...] = ()

    @property
    def end_ns(self) -> int:
        """The end of its time, unless its bytes are sent before."""
        return self.start_ns + self.duration_ns

    @property
    def kind(self) -> FlowKind:
        """The kind of flows of its tool."""
        return kind_of(self.tool)

    @property
    def transport(self) -> Transport | None:
        """The transport of its data; None if unknown."""
        return self.kind.transport_of({"protocol": self.protocol})

    @property
    def shares(self) -> bool:
        """Whether it takes as much of a bottleneck as its congestion control gets, over TCP or QUIC."""
        return self.kind.counts_for_fairness and (self.transport == "tcp" or self.kind.quic)


@dataclass(frozen=True)
class End:
    """One sending end of a link: `name` is `link:node`; `rates` are its (from ns, bit/s) steps.

    `rates` is None if they cannot be known, as with a user's tc commands, or if the link has `opportunities` instead.
    `copies`: its wire may deliver more packets than it took, since it duplicates packets, or splits those that it
    corrupts. `corrupts`: a checksum may discard packets that it delivers, which neither a queue nor a wire counts.
    `offload`: one packet at one place may count as several segments at another (qdisc_bstats_update() counts the
    segments of a GSO packet). `delays_ns` are the least and the most that its wire delays a packet at any time of the
    run. `found`: it was found after the run, not planned, so that its rate and delay are those given to tc, within its
    queue. `device`: the link is a device, whose root is the queue. `queue` is its discipline; None if a user's tc
    commands made it, or if it changes during the run.
    """

    name: str
    link: str
    node: str
    interface_index: int
    rates: tuple[tuple[int, int], ...] | None
    copies: bool = False
    corrupts: bool = False
    offload: bool = False
    opportunities: Opportunities | None = None
    delays_ns: tuple[int, int] = (0, 0)
    found: bool = False
    device: bool = False
    queue: Qdisc | None = None

    @property
    def overhead_bytes(self) -> int:
        """Bytes that a packet counts on this link beyond its frame."""
        return self.opportunities.overhead_bytes if self.opportunities else 0


@dataclass(frozen=True)
class Change:
    """Changes of a link at a moment of the run, each property in words: `rate 10 → 1 Mbit/s`."""

    at_ns: int
    link: str
    words: tuple[str, ...]

    @property
    def what(self) -> str:
        """All changes in words: `bottleneck: rate 10 → 1 Mbit/s, delay 10 → 50 ms`."""
        return f"{self.link}: {', '.join(self.words)}"

    @property
    def besides_the_rate(self) -> str:
        """The changes in words without the rate, for figures that draw the rate; empty if nothing else changes."""
        words = [word for word in self.words if not word.startswith("rate ")]
        return f"{self.link}: {', '.join(words)}" if words else ""


@dataclass(frozen=True)
class Description:
    """A run as its readers see it. Metrics cover [warmup_ns, duration_ns]. `point` maps axis paths to values.

    `drop_reasons` are the kernel's names of the reasons for which packets were dropped, by number. `copying` are nodes
    that may send more packets than they received, or different ones: switches, ends of tunnels.
    """

    id: str
    seed: int
    scenario: str
    point: Mapping[str, Json]
    warmup_ns: int
    duration_ns: int
    sample_ns: int
    flows: tuple[Flow, ...]
    ends: tuple[End, ...]
    changes: tuple[Change, ...] = ()
    drop_reasons: tuple[str, ...] = ()
    copying: frozenset[str] = frozenset()

    def drop_reason(self, number: int | None) -> str:
        """The name of a drop reason; `unknown` without a number, `reason_N` for a number without a name."""
        if number is None:
            return "unknown"
        return self.drop_reasons[number] if number < len(self.drop_reasons) else f"reason_{number}"


def describe(run: RunDocument) -> Description:
    """Describe a run, from `run.json`. Raises StoreError for a change of an interface that does not exist."""
    lab = run.lab
    return Description(
        id=run.id,
        seed=lab.seed if run.seed is None else run.seed,
        scenario=run.scenario_name,
        point=run.point,
        warmup_ns=run.measured_from_ns,
        duration_ns=lab.duration_ns,
        sample_ns=lab.record.sample_ns,
        flows=tuple(_flow(entry, run) for entry in lab.flows),
        ends=(
            *(_end(f"{link.name}:{end.node}", link, end, lab) for link in lab.links for end in link.ends),
            *(_end("", None, end, lab) for end in lab.interfaces),
        ),
        changes=changes_of(lab),
        copying=frozenset(node.name for node in lab.nodes if node.copies),
        drop_reasons=tuple(run.kernel.drop_reasons),
    )


def changes_of(lab: Lab) -> tuple[Change, ...]:
    """The lab's changes in words and in order; a change that both ends of a link share is listed once.

    The changes of an end's wire are found by comparing it with its previous state. Raises StoreError.
    """
    wires = {end.index: end.wire for end in lab.ends}
    names = {end.index: link.name for link in lab.links for end in link.ends}
    found: dict[tuple[int, str], dict[str, None]] = {}
    for entry in lab.changes:
        if entry.index not in wires:
            raise StoreError(
                f"the run's description (run.json) has a change of interface {entry.index}, which no link has"
            )
        before, after = wires[entry.index], entry.wire or wires[entry.index]
        wires[entry.index] = after
        words = _wire_words(before, after)
        if qdisc := Qdisc.of(entry.queue):
            words.append(f"queue {qdisc}")
        found.setdefault((entry.at_ns, names[entry.index]), {}).update(dict.fromkeys(words))
    return tuple(Change(at_ns, link, tuple(words)) for (at_ns, link), words in found.items() if words)


def _wire_words(before: LabWire, after: LabWire) -> list[str]:
    old, new = ((wire.rate_bps or 0) / 1e6 for wire in (before, after))
    words = [f"rate {old:g} → {new:g} Mbit/s"] if old != new else []
    return words + [word for found in PROPERTIES if (word := found.change_words(before, after))]


def _flow(entry: LabFlow, run: RunDocument) -> Flow:
    reverse = kind_of(entry.tool).is_reverse(entry.own)
    sender, receiver = (entry.to, entry.from_) if reverse else (entry.from_, entry.to)
    options = {option.name for option in entry.sockets}
    return Flow(
        id=entry.id,
        name=entry.name,
        group=entry.group,
        tool=entry.tool,
        source=entry.source,
        source_port=entry.source_port,
        destination=entry.destination,
        destination_port=entry.destination_port,
        start_ns=entry.start_ns,
        duration_ns=entry.duration_ns or run.lab.duration_ns - entry.start_ns,
        reverse=reverse,
        send_buffer_given=bool({SEND_BUFFER, UNSENT} & options)
        or "net.ipv4.tcp_wmem" in run.given_sysctl.get(sender, ()),
        receive_buffer_given=RECEIVE_BUFFER in options or "net.ipv4.tcp_rmem" in run.given_sysctl.get(receiver, ()),
        source_ports=entry.source_ports,
        protocol=entry.protocol,
        nodes=(entry.from_, entry.to) if entry.from_ and entry.to else (),
        cc=entry.cc,
        payload_bytes=entry.payload_bytes,
        connections=tuple(
            (one.protocol, one.source, one.source_port, one.destination, one.destination_port)
            for one in entry.connections
        ),
    )


def _end(name: str, link: LabLink | None, end: LabEnd, lab: Lab) -> End:
    """An end of a link, or an interface that does not belong to a link."""
    wires = _wires(end, lab)
    offload = link is not None and link.offload
    device = link is not None and link.device
    return End(
        name=end.name or name,
        link=link.name if link else end.name or name,
        node=end.node,
        interface_index=end.index,
        rates=_rates(end, lab.changes),
        copies=any(_ever(one, wires) for one in PROPERTIES if one.copies)
        or (offload and not device and any(_ever(one, wires) for one in PROPERTIES if one.copies_aggregates)),
        corrupts=any(_ever(one, wires) for one in PROPERTIES if one.corrupts),
        offload=offload,
        opportunities=opportunities_of(end),
        # A netem that was found after the run is a part of the interface's queue.
        delays_ns=(0, 0) if end.found else _delays_ns(wires),
        found=end.found,
        device=device,
        queue=None if _queue_changes(end, lab) else Qdisc.of(end.queue),
    )


def _queue_changes(end: LabEnd, lab: Lab) -> bool:
    return any(change.index == end.index and change.queue for change in lab.changes)


def _delays_ns(wires: Sequence[LabWire]) -> tuple[int, int]:
    """The least and the most delay over all wires of an end in the run.

    netem's tables reach four times the jitter, its uniform distribution reaches it once.
    """
    least, most = [], []
    for wire in wires:
        reach = wire.jitter_ns * (4 if wire.distribution else 1)
        skips = any(one.acts(wire) for one in PROPERTIES if one.skips_delay)
        least.append(0 if skips else max(wire.delay_ns - reach, 0))
        most.append(wire.delay_ns + reach)
    return min(least), max(most)


def _wires(end: LabEnd, lab: Lab) -> Sequence[LabWire]:
    changes = (change.wire for change in lab.changes if change.index == end.index)
    return [end.wire, *(wire for wire in changes if wire)]


def _ever(impairment: WireProperty, wires: Sequence[LabWire]) -> bool:
    """Whether a wire does this to packets at any time of the run."""
    return any(impairment.acts(wire) for wire in wires)


def _rates(end: LabEnd, changes: Sequence[LabChange]) -> tuple[tuple[int, int], ...] | None:
    """The steps of an end's rate, from its wire and the wires of the lab's changes; None if it has none."""
    if not end.wire.rate_bps:
        return None
    steps = [(-(2**62), end.wire.rate_bps)]
    for change in changes:
        if change.index == end.index and change.wire and change.wire.rate_bps:
            steps.append((change.at_ns, change.wire.rate_bps))
    return tuple(sorted(steps))
