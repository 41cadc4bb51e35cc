"""The whole of the scenario format as models. After validation every quantity is an integer in its base unit:
bit/s, nanoseconds, bytes; percentages are fractions."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, PrivateAttr, ValidationInfo, WithJsonSchema

from netwarp import units
from netwarp.fields import (
    Directed,
    Duration,
    InterfaceName,
    Line,
    Model,
    Name,
    Percent,
    PositiveDuration,
    Queue,
    Rate,
    Sysctl,
    about,
    both_ways,
    either_way,
    kind,
    quantity_pattern,
)
from netwarp.flows import Flow
from netwarp.scenario.errors import ScenarioError
from netwarp.scenario.netem import Jitter, JitterField, LossField, RandomLoss
from netwarp.scenario.source import Source
from netwarp.scenario.trace import Trace, TraceField
from netwarp.scenario.views import view_name

MIN_MEMORY_BYTES = 64 * 2**20
MAX_MEMORY_BYTES = 64 * 2**30
MAX_RUN_NS = 30 * 24 * 3600 * 10**9
MAX_SEEDS = 100_000


def _auto_duration(value: object) -> object:
    return None if value == "auto" or value is None else units.parse_duration(value)


def _memory(value: object) -> int | None:
    if value == "auto" or value is None:
        return None
    size = units.parse_memory(value)
    if size < MIN_MEMORY_BYTES:
        raise ValueError(f'"{value}" is too little for the kernel to start; the least is "64M"')
    if size > MAX_MEMORY_BYTES:
        raise ValueError(f'"{value}" is too much; the most is "64G"')
    return size


def _seeds(value: object) -> tuple[int, ...]:
    """`N` is the seeds 1..N; a list is taken as it stands."""
    numbers = value if isinstance(value, list | tuple) else None
    if isinstance(value, int) and not isinstance(value, bool):
        if not 1 <= value <= MAX_SEEDS:
            raise ValueError(f"{value} is not a number of seeds; it must be between 1 and {MAX_SEEDS}")
        return tuple(range(1, value + 1))
    if not numbers or any(isinstance(n, bool) or not isinstance(n, int) or not 0 <= n < 2**63 for n in numbers):
        raise ValueError("seeds are a number (3 means 1, 2, 3) or a list of whole numbers such as [1, 2, 3]")
    if len(set(numbers)) != len(numbers):
        raise ValueError("a seed is listed twice; the same seed gives the same run, so nothing would be learnt from it")
    return tuple(numbers)


AutoDuration = Annotated[
    int | None,
    BeforeValidator(_auto_duration),
    kind('duration or "auto"', "auto", "20ms", pattern=f"{quantity_pattern(units.DURATION_UNITS)}|^auto$"),
]
Memory = Annotated[
    int | None,
    BeforeValidator(_memory),
    kind('memory or "auto"', "auto", "256M", pattern=f"{quantity_pattern(units.MEMORY_UNITS)}|^auto$"),
]
Seeds = Annotated[
    tuple[int, ...],
    BeforeValidator(_seeds),
    WithJsonSchema(
        {
            "title": "seeds",
            "anyOf": [
                {"type": "integer", "minimum": 1, "maximum": MAX_SEEDS},
                {"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 1, "uniqueItems": True},
            ],
        }
    ),
]


def _within(value: object) -> float | str:
    return INTERVAL if value == INTERVAL else units.parse_percent(value)


INTERVAL = "interval"
Within = Annotated[
    float | Literal["interval"],
    BeforeValidator(_within),
    WithJsonSchema({"title": "percentage or interval", "type": "string", "examples": ["2%", INTERVAL]}),
]


def _share(value: object) -> float:
    share = units.parse_percent(value)
    if not 0 < share < 1:
        raise ValueError(f'"{value}" is no share between 0% and 100%; where it is to hold with all seeds, leave it out')
    return share


Share = Annotated[float, BeforeValidator(_share), kind("percentage", "80%")]


def _path(value: str) -> str:
    if not value.startswith("/") or "\0" in value:
        raise ValueError(f'"{value[:200]}" is no absolute path; programs do not know where the scenario lies')
    return value


class RunOptions(Model):
    """How the runs are made."""

    start_jitter: AutoDuration = about(
        "Flows start late by a time drawn uniformly from 0 to this: each flow has a phase of its own. `auto`: one "
        "round trip of the empty path, 10 ms at least.",
        "20ms",
        refused=["20"],
        default=None,
    )
    memory: Memory = about(
        "Memory of the virtual machine, 64M to 64G. `auto`: 128 MiB and what the flows' packets may need.",
        "512M",
        refused=["1M", "512MB"],
        default=None,
    )
    time_limit: AutoDuration = about(
        "Real time after which a run is ended and has failed. `auto` allows for the run's duration.",
        "10min",
        refused=[600],
        default=None,
    )
    tuner: Name = about(
        "Which of the scenario's tuners is in use; `default` is none.", "big", refused=["none"], default="default"
    )
    read: tuple[Annotated[Line, AfterValidator(_path)], ...] = about(
        "Files and directories beyond the scenario's own directory that its programs need, as absolute paths. Whoever "
        "runs it allows them with `--read`: a scenario grants itself nothing (SECURITY.md).",
        ["/srv/payload"],
        refused=[["payload"]],
        default=(),
    )


class Capture(Model):
    """A packet capture at one end of a link, in `captures/LINK-NODE.pcap` of the run's directory."""

    at: str = about("Where: the link and its end, as `link:node`.", "bottleneck:h2", refused=["h2"])
    snap: int = about(
        "How many bytes of each packet are kept; 0: all.", 0, refused=[-1], default=128, ge=0, le=262144, strict=True
    )
    filter: Line | None = about(
        "Which packets, in the words of pcap-filter(7); all unless given.",
        "tcp port 5001",
        refused=[""],
        default=None,
    )


class Record(Model):
    """What is recorded."""

    exact: bool = about(
        "Record every packet in every queue and the sender's state after every ACK; else samples alone.",
        False,
        refused=["no"],
        default=True,
        strict=True,
    )
    sample: PositiveDuration | None = about(
        "How often sockets, queues and links are sampled. Unless given: every 100 ms, and every 1 s beside exact "
        "records, which hold all that samples do and more.",
        "10ms",
        refused=["0ms"],
        default=None,
    )
    captures: tuple[Capture, ...] = about("Packet captures.", [{"at": "bottleneck:r1"}], default=())

    @property
    def sample_ns(self) -> int:
        """The sampling interval, decided."""
        if self.sample is not None:
            return self.sample
        return 1_000_000_000 if self.exact else 100_000_000


class Node(Model):
    """A host, or a router when it forwards: a network namespace."""

    forward: bool = about(
        "Whether it forwards packets, as a router does.", True, refused=["yes"], default=False, strict=True
    )
    sysctl: Sysctl = about(
        "Kernel settings of this node's network namespace. `netwarp show` lists those that netwarp sets itself.",
        {"net.ipv4.tcp_ecn": 1},
        refused=[{"tcp_ecn": 1}, {"net.core.default_qdisc": "fq"}],
        default_factory=dict,
    )


Addresses = Annotated[
    tuple[str, ...],
    BeforeValidator(lambda value: (value,) if isinstance(value, str) else value),
    WithJsonSchema(
        {"title": "addresses", "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
    ),
]
_NO_DELAY = Directed[Duration].model_construct(forward=0, back=0)
_NO_JITTER = Directed[JitterField].model_construct(forward=Jitter(ns=0), back=Jitter(ns=0))
_NO_LOSS = Directed[LossField].model_construct(forward=RandomLoss(p=0.0), back=RandomLoss(p=0.0))
_NEVER = Directed[Percent].model_construct(forward=0.0, back=0.0)
_DEFAULT_QUEUE = Directed[Queue | None].model_construct(forward=None, back=None)
_NO_TRACE = Directed[TraceField | None].model_construct(forward=None, back=None)


def _rate_or_trace(value: object, info: ValidationInfo) -> object:
    """Where the rate is left out, that with which the direction's trace begins."""
    if value is not None and not isinstance(value, dict):
        return value
    given = value or {}
    trace: Directed[Trace | None] | None = info.data.get("trace")
    if trace is None:  # the trace is what is wrong, and said already
        return {"forward": "1gbit", "back": "1gbit"} | given
    begins = {way: trace.of(direction) for direction, way in enumerate(("forward", "back"))}
    rates = {way: f"{t.first_rate_bps}bit" for way, t in begins.items() if t and t.first_rate_bps} | given
    if value is None and len(rates) < 2:
        if not any(begins.values()):
            raise ValueError('the link has no `rate`; every link has a finite one, such as rate = "1gbit"')
        way = next(way for way in begins if way not in rates)
        raise ValueError(f'the trace does not tell the rate at the start ({way}); give it, such as rate = "10mbit"')
    return rates


class Link(Model):
    """Two nodes joined: a rate and a queue at each sending end, and a wire between them.

    `forward` is the direction from the first end to the second, `back` the other. A property that has directions takes
    a plain value or a table such as `{ forward = "10ms", back = "20ms" }`.
    """

    ends: tuple[Name, ...] = about("The two nodes.", ["r1", "h2"], refused=[["r1"], ["r1", "r1"]], min_length=1)
    interfaces: tuple[InterfaceName, InterfaceName] | None = about(
        "Names of the two ends' interfaces; `eth0`, `eth1` … of each node unless given.",
        ["wan0", "eth0"],
        refused=[["lo", "eth0"]],
        default=None,
    )
    addresses: tuple[Addresses, Addresses] | None = about(
        "Addresses of the two ends with prefix lengths, IPv4, IPv6 or a list of both. Unless given, "
        "`10.0.K.1/24` and `fd6e:7700:0:K::1/64` of link number K, and `.2`.",
        ["192.168.1.1/24", "192.168.1.2/24"],
        refused=[["192.168.1.1", "192.168.1.2"], ["192.168.1.1/24", "192.168.2.2/24"]],
        default=None,
    )
    trace: Annotated[Directed[TraceField | None], either_way(plain_is_both=True)] = about(
        "A shipped trace or a file (relative to the scenario's) that says what the link is like over time; a plain "
        "value holds both ways. See [changes.md](changes.md).",
        "lte",
        refused=["3g"],
        beside={"rate": None},
        default=_NO_TRACE,
    )
    rate: Annotated[Directed[Rate], both_ways(), BeforeValidator(_rate_or_trace)] = about(
        "The rate at which each end sends frames. Every link has one, from a trace or from here. A plain value holds "
        "both ways; a table gives both.",
        "5mbit",
        refused=["10mbps", "5", "0bit", "20tbit"],
        default=None,
        validate_default=True,
    )
    delay: Annotated[Directed[Duration], both_ways("0s")] = about(
        "Propagation delay of the wire, one way; a plain value holds both ways.",
        "10ms",
        refused=[10, "-10ms"],
        default=_NO_DELAY,
    )
    jitter: Annotated[Directed[JitterField], both_ways("0s")] = about(
        "How much the delay varies: `TIME [CORRELATION%] [DISTRIBUTION]`, uniform, normal, pareto or paretonormal. "
        "Packets stay in order.",
        "2ms normal",
        refused=["2ms gamma"],
        default=_NO_JITTER,
    )
    loss: Annotated[Directed[LossField], both_ways("0%")] = about(
        "Losses of the wire in netem's words: `P [CORRELATION]`, `gemodel P [R [1-H [1-K]]]`, "
        "`state P13 [P31 [P32 [P23 [P14]]]]`.",
        "gemodel 1% 10%",
        refused=["0.5", "101%"],
        default=_NO_LOSS,
    )
    duplicate: Annotated[Directed[Percent], both_ways("0%")] = about(
        "Share of packets that the wire delivers twice.", "0.1%", refused=[0.1], default=_NEVER
    )
    corrupt: Annotated[Directed[Percent], both_ways("0%")] = about(
        "Share of packets in which the wire flips a bit.", "0.1%", refused=["-1%"], default=_NEVER
    )
    reorder: Annotated[Directed[Percent], both_ways("0%")] = about(
        "Share of packets that overtake those before them: they skip the delay.",
        "1%",
        refused=["150%"],
        beside={"delay": "10ms"},
        default=_NEVER,
    )
    queue: Annotated[Directed[Queue | None], either_way(plain_is_both=False)] = about(
        "Queue discipline of the sending end and its options, in tc's words. A plain value is the forward direction's. "
        "Unless given: `pfifo` with room for two bandwidth-delay products, 1000 packets at least.",
        "pfifo limit 100",
        refused=["qdisc add pfifo", ""],
        default=_DEFAULT_QUEUE,
    )
    mtu: int = about(
        "The largest IP packet, in bytes; IPv6 needs 1280 at least (RFC 8200).",
        9000,
        refused=[1279, 70000],
        default=1500,
        ge=1280,
        le=65535,
        strict=True,
    )
    offload: bool = about(
        "Segmentation and aggregation offloads (TSO, GSO, GRO).", True, refused=[1], default=False, strict=True
    )
    raw: dict[str, tuple[Line, ...]] = about(
        "In place of rate and queue at an end: tc commands for its interface `{dev}`, run in this order.",
        {"r1": ["qdisc add dev {dev} root handle 1: tbf rate 10mbit burst 5kb limit 100kb"]},
        refused=[{"h1": ["qdisc add dev {dev} root pfifo"]}],
        beside={"queue": None},
        default_factory=dict,
    )


class Change(Model):
    """Properties of a link that change at a moment of the run; what is not named stays as it is.

    [changes.md](changes.md) says what happens to packets that wait or are under way.
    """

    at: Duration = about("When, from the start of the run.", "2s", refused=["10s"])
    link: str = about("Which link.", "bottleneck", refused=["botleneck"])
    over: PositiveDuration | None = about(
        "A ramp: get there in steps on a straight line, within this time. Not for queues.",
        "2s",
        refused=["9s"],
        default=None,
    )
    step: PositiveDuration | None = about(
        "The time between two steps of a ramp; a fiftieth of it unless given.",
        "100ms",
        refused=["3s"],
        beside={"over": "2s"},
        default=None,
    )
    repeat: PositiveDuration | None = about(
        "All of it happens again after each such time, to the end of the run.",
        "4s",
        refused=["0s"],
        default=None,
    )
    times: int | None = about(
        "How often in all, with `repeat`.", 2, refused=[0, 9], beside={"repeat": "4s"}, default=None, ge=1, strict=True
    )
    outage: Annotated[Directed[PositiveDuration | None], either_way(plain_is_both=True)] | None = about(
        "For so long nothing gets through the wire; what is sent into it is lost.",
        "200ms",
        refused=["9s"],
        default=None,
    )
    rate: Annotated[Directed[Rate | None], either_way(plain_is_both=True)] | None = about(
        "The rate from then on.", "1mbit", refused=["1kbit"], default=None
    )
    delay: Annotated[Directed[Duration | None], either_way(plain_is_both=True)] | None = about(
        "The delay from then on.", "50ms", refused=["50"], default=None
    )
    jitter: Annotated[Directed[JitterField | None], either_way(plain_is_both=True)] | None = about(
        "The jitter from then on.", "5ms", refused=["5"], default=None
    )
    loss: Annotated[Directed[LossField | None], either_way(plain_is_both=True)] | None = about(
        "The losses from then on.", "2%", refused=["2"], default=None
    )
    queue: Annotated[Directed[Queue | None], either_way(plain_is_both=False)] | None = about(
        "The queue from then on. One of another kind drops the packets that wait.",
        "pfifo limit 20",
        refused=[""],
        default=None,
    )


def _no_program(value: object) -> None:
    """A tuner that is a program, such as bpftune, has its place here once there are engines that it can run in."""
    if value is not None:
        raise ValueError(
            "programs as tuners come with the real-time engines; in virtual time a tuner is a set of sysctls, a queue, "
            "or both"
        )


class Tuner(Model):
    """What some nodes are tuned with before the flows start. `run.tuner` names the one in use, and a sweep can vary it:
    `"run.tuner" = ["default", "big"]`."""

    nodes: tuple[str, ...] | None = about(
        "Which nodes; all of them unless given.", ["h1"], refused=[["h9"]], default=None
    )
    sysctl: Sysctl = about(
        "Kernel settings of these nodes' network namespaces.",
        {"net.ipv4.tcp_rmem": "4096 131072 6291456"},
        refused=[{"tcp_rmem": "4096 131072 6291456"}],
        default_factory=dict,
    )
    queue: Queue | None = about(
        "A queue in place of those at these nodes' ends of links, as net.core.default_qdisc gives a host.",
        "fq",
        refused=[""],
        beside={"nodes": ["h1"]},
        default=None,
    )
    command: Annotated[None, BeforeValidator(_no_program), WithJsonSchema({"type": "null"})] = about(
        "Not available yet.", refused=["bpftune"], default=None
    )

    def tunes(self, node: str) -> bool:
        """Whether this node is among those it is for."""
        return self.nodes is None or node in self.nodes


class Case(Model):
    """A named point: paths and the values that they take in it. Cases replace each other; axes of `sweep` multiply."""

    name: str = about("What it is called.", "ten flows", refused=[""], min_length=1, max_length=100)
    use: tuple[str, ...] = about(
        "Presets to take settings from; of two that set one path, the later holds.",
        ["bbr"],
        refused=[["reno"]],
        default=(),
    )
    set: dict[str, Any] = about(
        "Paths and their values, which hold over those of presets.",
        {"flows.bulk.count": 10},
        refused=[{"links.bottleneck.qeue": "fq"}],
        default_factory=dict,
    )


Scalar = str | int | float | bool
Selection = dict[str, Scalar | tuple[Scalar, ...]]
"""What to look at: `name`, `case`, `seed` or a swept path, and its value, or a list of values any of which will do."""


class Expectation(Model):
    """What should come out: a condition on a metric, checked in every run that `where` selects. It is bounds, an order
    or a value. [expectations.md](expectations.md) says when each holds."""

    metric: str = about(
        "Scope and name, of [metrics.md](metrics.md).", "flow.goodput_mbps", refused=["goodput_mbps", "pipe.drops"]
    )
    where: Selection = about(
        "Which rows of the summary: by `name` (of a flow, of a queue as `link:node`), `case`, `seed` or a swept path. "
        "A list means any of its values.",
        {"name": "bulk"},
        refused=[{"name": "blk"}, {"colour": "red"}],
        default_factory=dict,
    )
    ascending: tuple[Selection, ...] = about(
        "An order: every value that a step selects is below every value of the next, in runs that are otherwise alike.",
        [{"case": "ten flows"}, {"case": "BBR"}],
        refused=[[{"case": "BBR"}]],
        beside={"min": None},
        default=(),
    )
    min: float | None = about("The least value.", 9.0, refused=["9"], default=None, allow_inf_nan=False, strict=True)
    max: float | None = about("The largest value.", 9.6, refused=[8], default=None, allow_inf_nan=False, strict=True)
    equals: float | None = about(
        "The value that the mean over the seeds has, `within` some distance.",
        9.5,
        refused=["9.5"],
        beside={"min": None, "within": "2%"},
        default=None,
        allow_inf_nan=False,
        strict=True,
    )
    within: Within | None = about(
        'How near: a fraction of the value, or `"interval"`, the mean\'s own 99.9 % confidence interval (two seeds at '
        "least).",
        "2%",
        refused=["near"],
        beside={"min": None, "equals": 9.5},
        default=None,
    )
    share: Share | None = about(
        "The share of seeds with which bounds or an order must hold; with all of them unless given.",
        "80%",
        refused=["0%", "100%"],
        default=None,
    )


class Scenario(Model):
    """A validated scenario; `source` keeps the text it came from."""

    name: Name = about("What results are called.", "bufferbloat", refused=["two words", ""])
    summary: str = about(
        "What it shows, in a line; `netwarp list` prints it.", "One flow fills a queue", refused=[1], default=""
    )
    duration: PositiveDuration = about(
        "How long a run lasts in the network's time, 30 days at most.", "30s", refused=[30, "30", "0s", "800h"]
    )
    warmup: Duration = about(
        "How much of the start metrics leave out. Records keep it.", "2s", refused=["10s"], default=0
    )
    seeds: Seeds = about(
        "Each point is run once with each seed: a number N for the seeds 1 to N, or a list.",
        5,
        refused=[0, [1, 1], "5"],
        default=(1,),
    )
    run: RunOptions = about(
        "Start phases, memory, real time, the tuner in use.", {"start_jitter": "20ms"}, default=RunOptions()
    )
    record: Record = about("Which records and captures are written.", {"exact": False}, default=Record())
    nodes: dict[Name, Node] = about("Hosts and routers by their names.", refused=[{}], min_length=1)
    links: dict[Name, Link] = about("Links by their names.", refused=[{}], min_length=1)
    flows: dict[Name, Flow] = about("Traffic, by the names of groups of flows.", refused=[{}], default_factory=dict)
    changes: tuple[Change, ...] = about("What changes while a run goes on.", default=())
    tuners: dict[Name, Tuner] = about(
        "Settings of nodes under a name.", {"big": {"sysctl": {"net.ipv4.tcp_ecn": 1}}}, default_factory=dict
    )
    sweep: dict[str, tuple[Any, ...]] = about(
        "Axes: a path and the values that it takes. Every combination is a point, with each case.",
        {"links.bottleneck.rate": ["5mbit", "20mbit"]},
        refused=[
            {"links.bottleneck.rat": ["5mbit"]},
            {"seeds": [1, 2]},
            {"links.bottleneck.queue": []},
            {"links.bottleneck.queue": ["fq", "fq"]},
        ],
        default_factory=dict,
    )
    presets: dict[Name, dict[str, Any]] = about(
        "Settings under a name, which cases `use`: paths and their values.",
        {"bbr": {"flows.bulk.cc": "bbr"}},
        refused=[{"bbr": {"flows.blk.cc": "bbr"}}],
        default_factory=dict,
    )
    cases: tuple[Case, ...] = about("Named points, one after the other.", [{"name": "as it is"}], default=())
    baseline: str | None = about(
        "The case that figures compare the others with.", "BBR", refused=["CUBIC"], default=None
    )
    expect: tuple[Expectation, ...] = about("What should come out.", default=())
    views: tuple[Annotated[str, AfterValidator(view_name)], ...] = about(
        "Tables and figures of a particular study that are made beyond those of every result.",
        ["connection-monitor"],
        refused=[["conection-monitor"]],
        default=(),
    )

    _source: Source | None = PrivateAttr(default=None)

    @property
    def tuner(self) -> Tuner | None:
        """The tuner in use, if any."""
        return self.tuners.get(self.run.tuner)

    def given_sysctl(self, node: str) -> dict[str, str]:
        """The sysctls that the scenario gives a node: its own, over them those of the tuner in use."""
        tuner = self.tuner
        return self.nodes[node].sysctl | (tuner.sysctl if tuner and tuner.tunes(node) else {})

    @property
    def source(self) -> Source:
        """Where this scenario came from: its text, its data, and what was set from outside."""
        if self._source is None:
            raise ScenarioError("this scenario was not made by load_scenario, so it has no source")
        return self._source


SECTIONS: tuple[Literal["nodes", "links", "flows", "tuners"], ...] = ("nodes", "links", "flows", "tuners")
"""The tables whose keys are names the author gave."""
