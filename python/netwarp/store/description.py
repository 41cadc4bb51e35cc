"""What a run was: the parts of `run.json` and its lab that readers of records need."""

import ipaddress
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from netwarp.flows import kind_of
from netwarp.flows.kind import FlowKind, Transport
from netwarp.lab_format.wires import PROPERTIES, WireProperty
from netwarp.qdisc import Qdisc
from netwarp.store.errors import StoreError
from netwarp.store.opportunities import Opportunities, opportunities_of

_UNITS_NS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9, "h": 3600 * 10**9}


Connection = tuple[int, str, int, str, int]
"""Protocol, source and its port, destination and its port."""
_CONNECTION = ("protocol", "source", "source_port", "destination", "destination_port")


@dataclass(frozen=True)
class Flow:
    """One flow of the lab; `group` is its name in the scenario.

    Data goes from source to destination, if `reverse` (as of responses to requests) from destination to source.
    `send_buffer_given`, `receive_buffer_given`: the scenario itself sets the size of the sender's, receiver's buffer.
    `source_ports` are those of all its connections where they are known (imported results). `protocol` is what
    its kind leaves to each flow: iperf3's `tcp` or `udp`.
    `nodes` are those of source and destination, `cc` its congestion control; both empty if the lab does not say.
    `payload_bytes` is how much a flow of a given size sends. `connections` are the five-tuples of its data where they
    were found after the run, as of a command.
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
        """When its time is over, unless its bytes are sent before."""
        return self.start_ns + self.duration_ns

    @property
    def kind(self) -> FlowKind:
        """What flows of its tool are."""
        return kind_of(self.tool)

    @property
    def transport(self) -> Transport | None:
        """What carries its data; None if nobody knows."""
        return self.kind.transport_of({"protocol": self.protocol})

    @property
    def shares_by_tcp(self) -> bool:
        """Whether it takes by TCP what share of a bottleneck it can get."""
        return self.kind.counts_for_fairness and self.transport == "tcp"


@dataclass(frozen=True)
class End:
    """One sending end of a link: `name` is `link:node`; `rates` are its (from ns, bit/s) steps.

    `rates` is None if they cannot be known, as with tc commands of the user's own, and where the link has
    `opportunities` instead. `copies` states that its wire may
    deliver more packets than it took: it duplicates, or splits what it corrupts. `corrupts`: what it delivers may be
    discarded by a checksum, which no queue and no wire counts. `offload`: what counts as one packet in one place may
    count as the many it stands for in another (qdisc_bstats_update() counts the segments of a GSO packet). `delays_ns`
    are the least and the most that its wire delays a packet at any time of the run. `found`: nobody planned it, so
    that its rate and delay are what tc was told, within its queue. `queue` is its discipline; None if tc commands
    of the user's own made it, or if it changes during the run.
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
    queue: Qdisc | None = None

    @property
    def overhead_bytes(self) -> int:
        """What a packet counts on this link beyond its frame."""
        return self.opportunities.overhead_bytes if self.opportunities else 0


@dataclass(frozen=True)
class Change:
    """What changes on a link at a moment of the run, each property in words: `rate 10 → 1 Mbit/s`."""

    at_ns: int
    link: str
    words: tuple[str, ...]

    @property
    def what(self) -> str:
        """All of it in words: `bottleneck: rate 10 → 1 Mbit/s, delay 10 → 50 ms`."""
        return f"{self.link}: {', '.join(self.words)}"

    @property
    def besides_the_rate(self) -> str:
        """The same without the rate, for figures that draw it; empty if there is nothing else."""
        words = [word for word in self.words if not word.startswith("rate ")]
        return f"{self.link}: {', '.join(words)}" if words else ""


@dataclass(frozen=True)
class Description:
    """A run as its readers see it. Metrics cover [warmup_ns, duration_ns]. `point` maps axis paths to values.

    `drop_reasons` are the names of the reasons for which the kernel of the run dropped packets, by number. `copying`
    are nodes that may send more or other packets than came: switches, ends of tunnels.
    """

    id: str
    seed: int
    scenario: str
    point: Mapping[str, Any]
    warmup_ns: int
    duration_ns: int
    sample_ns: int
    flows: tuple[Flow, ...]
    ends: tuple[End, ...]
    changes: tuple[Change, ...] = ()
    drop_reasons: tuple[str, ...] = ()
    copying: frozenset[str] = frozenset()

    def drop_reason(self, number: int | None) -> str:
        """The name of a drop reason; `unknown` without a number, `reason_N` for one that is not among the names."""
        if number is None:
            return "unknown"
        return self.drop_reasons[number] if number < len(self.drop_reasons) else f"reason_{number}"


def describe(run: Mapping[str, Any]) -> Description:
    """Read `run.json`'s content: id, seed, point, scenario (an object with name and warmup), lab.

    Raises StoreError naming what is missing.
    """
    try:
        lab = run["lab"]
        scenario = run.get("scenario", {})
        return Description(
            id=str(run["id"]),
            seed=int(run.get("seed", lab["seed"])),
            scenario=str(scenario.get("name", "")) if isinstance(scenario, Mapping) else str(scenario),
            point=dict(run.get("point", {})),
            warmup_ns=_warmup_ns(run),
            duration_ns=int(lab["duration_ns"]),
            sample_ns=int(lab.get("record", {}).get("sample_ns", 0)),
            flows=tuple(_flow(entry, run) for entry in lab["flows"]),
            ends=(
                *(_end(link, end, lab) for link in lab["links"] for end in link["ends"]),
                *(_end({"name": end["name"]}, end, lab) for end in lab.get("interfaces", ())),
            ),
            changes=changes_of(lab),
            copying=frozenset(str(node["name"]) for node in lab.get("nodes", ()) if node.get("copies")),
            drop_reasons=tuple(run.get("kernel", {}).get("drop_reasons", ())),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise StoreError(f"the run's description (run.json) is incomplete: {error}") from error


def same_address(one: str, other: str) -> bool:
    """Whether two spellings mean one IP address."""
    return one == other or ipaddress.ip_address(one) == ipaddress.ip_address(other)


def changes_of(lab: Mapping[str, Any]) -> tuple[Change, ...]:
    """The lab's changes in words and in order; a change that both ends of a link share is listed once.

    What changed in an end's wire is found by comparing it with its state before.
    """
    wires = {end["index"]: end.get("wire", {}) for link in lab["links"] for end in link["ends"]}
    names = {end["index"]: str(link["name"]) for link in lab["links"] for end in link["ends"]}
    found: dict[tuple[int, str], dict[str, None]] = {}
    for entry in lab.get("changes", ()):
        before, after = wires[entry["index"]], entry.get("wire") or wires[entry["index"]]
        wires[entry["index"]] = after
        words = _wire_words(before, after)
        if qdisc := Qdisc.of(entry.get("queue")):
            words.append(f"queue {qdisc}")
        found.setdefault((int(entry["at_ns"]), names[entry["index"]]), {}).update(dict.fromkeys(words))
    return tuple(Change(at_ns, link, tuple(words)) for (at_ns, link), words in found.items() if words)


def _wire_words(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    old, new = ((wire.get("rate_bps") or 0) / 1e6 for wire in (before, after))
    words = [f"rate {old:g} → {new:g} Mbit/s"] if old != new else []
    return words + [word for found in PROPERTIES if (word := found.change_words(before, after))]


def _warmup_ns(run: Mapping[str, Any]) -> int:
    for place in (run, run["lab"], run.get("scenario", {})):
        if isinstance(place, Mapping):
            if "warmup_ns" in place:
                return int(place["warmup_ns"])
            if "warmup" in place:
                return _duration_ns(place["warmup"])
    return 0


def _duration_ns(text: Any) -> int:
    if isinstance(text, int):
        return text
    match = re.fullmatch(r"([\d.]+)\s*(ns|us|ms|s|min|h)", str(text))
    if match is None:
        raise StoreError(f"the run's description (run.json) has a warmup that is not a duration: {text!r}")
    return round(float(match[1]) * _UNITS_NS[match[2]])


def _flow(entry: Mapping[str, Any], run: Mapping[str, Any]) -> Flow:
    reverse = kind_of(str(entry["tool"])).is_reverse(entry)
    sender, receiver = ("to", "from") if reverse else ("from", "to")
    given = run.get("given_sysctl", {})
    return Flow(
        id=int(entry["id"]),
        name=str(entry["name"]),
        group=str(entry["group"]),
        tool=str(entry["tool"]),
        source=str(entry["source"]),
        source_port=int(entry.get("source_port") or 0),
        destination=str(entry["destination"]),
        destination_port=int(entry.get("destination_port") or 0),
        start_ns=int(entry["start_ns"]),
        duration_ns=int(entry.get("duration_ns") or int(run["lab"]["duration_ns"]) - int(entry["start_ns"])),
        reverse=reverse,
        send_buffer_given="net.ipv4.tcp_wmem" in given.get(entry.get(sender), ()),
        receive_buffer_given="net.ipv4.tcp_rmem" in given.get(entry.get(receiver), ()),
        source_ports=tuple(int(port) for port in entry.get("source_ports") or ()),
        protocol=str(entry.get("protocol") or ""),
        nodes=(str(entry["from"]), str(entry["to"])) if "from" in entry and "to" in entry else (),
        cc=str(entry.get("cc") or ""),
        payload_bytes=int(entry["bytes"]) if entry.get("bytes") else None,
        connections=tuple(tuple(one[name] for name in _CONNECTION) for one in entry.get("connections") or ()),
    )


def _end(link: Mapping[str, Any], end: Mapping[str, Any], lab: Mapping[str, Any]) -> End:
    return End(
        name=str(end.get("name") or f"{link['name']}:{end['node']}"),
        link=str(link["name"]),
        node=str(end["node"]),
        interface_index=int(end["index"]),
        rates=_rates(end, lab.get("changes", [])),
        copies=any(_ever(one, end, lab) for one in PROPERTIES if one.copies)
        or (bool(link.get("offload")) and any(_ever(one, end, lab) for one in PROPERTIES if one.copies_aggregates)),
        corrupts=any(_ever(one, end, lab) for one in PROPERTIES if one.corrupts),
        offload=bool(link.get("offload")),
        opportunities=opportunities_of(end),
        # A netem that was found is a part of the interface's queue.
        delays_ns=(0, 0) if end.get("found") else _delays_ns(end, lab),
        found=bool(end.get("found")),
        queue=None if _queue_changes(end, lab) else Qdisc.of(end.get("queue")),
    )


def _queue_changes(end: Mapping[str, Any], lab: Mapping[str, Any]) -> bool:
    return any(change["index"] == end["index"] and change.get("queue") for change in lab.get("changes", ()))


def _delays_ns(end: Mapping[str, Any], lab: Mapping[str, Any]) -> tuple[int, int]:
    """Over all wires of an end in the run; netem's tables reach four times the jitter, its uniform jitter once."""
    least, most = [], []
    for wire in _wires(end, lab):
        delay, jitter = int(wire.get("delay_ns") or 0), int(wire.get("jitter_ns") or 0)
        reach = jitter * (4 if wire.get("distribution") else 1)
        skips = any(one.acts(wire) for one in PROPERTIES if one.skips_delay)
        least.append(0 if skips else max(delay - reach, 0))
        most.append(delay + reach)
    return min(least, default=0), max(most, default=0)


def _wires(end: Mapping[str, Any], lab: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    changes = (change["wire"] for change in lab.get("changes", []) if change["index"] == end["index"])
    return [wire for wire in (end.get("wire"), *changes) if wire]


def _ever(impairment: WireProperty, end: Mapping[str, Any], lab: Mapping[str, Any]) -> bool:
    """Whether the wire that leaves this end does this to packets at any time of the run."""
    return any(impairment.acts(wire) for wire in _wires(end, lab))


def _rates(end: Mapping[str, Any], changes: Any) -> tuple[tuple[int, int], ...] | None:
    """The steps of an end's rate, from its wire and the wires of the lab's changes; None if it has none."""
    steps: list[tuple[int, int]] = []
    rate = end.get("wire", {}).get("rate_bps")
    if not rate:
        return None
    steps.append((-(2**62), int(rate)))
    for change in changes:
        if change["index"] == end["index"] and change["wire"] and change["wire"]["rate_bps"]:
            steps.append((int(change["at_ns"]), int(change["wire"]["rate_bps"])))
    return tuple(sorted(steps))
