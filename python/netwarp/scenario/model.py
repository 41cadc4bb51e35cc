"""The whole of the scenario format as models. After validation every quantity is an integer in its base unit:
bit/s, nanoseconds, bytes; percentages are fractions."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, PrivateAttr, ValidationInfo, WithJsonSchema

from netwarp.scenario import units
from netwarp.scenario.errors import ScenarioError
from netwarp.scenario.fields import (
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
    both_ways,
    either_way,
)
from netwarp.scenario.flows import Flow
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


AutoDuration = Annotated[int | None, BeforeValidator(_auto_duration), WithJsonSchema({"type": "string"})]
Seeds = Annotated[
    tuple[int, ...],
    BeforeValidator(_seeds),
    WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 1}, {"type": "array", "items": {"type": "integer"}}]}),
]


def _within(value: object) -> float | str:
    return INTERVAL if value == INTERVAL else units.parse_percent(value)


INTERVAL = "interval"
Within = Annotated[
    float | Literal["interval"],
    BeforeValidator(_within),
    WithJsonSchema({"type": "string", "examples": ["2%", INTERVAL]}),
]


def _share(value: object) -> float:
    share = units.parse_percent(value)
    if not 0 < share < 1:
        raise ValueError(f'"{value}" is no share between 0% and 100%; where it is to hold with all seeds, leave it out')
    return share


Share = Annotated[float, BeforeValidator(_share), WithJsonSchema({"type": "string", "examples": ["80%"]})]


def _path(value: str) -> str:
    if not value.startswith("/") or "\0" in value:
        raise ValueError(f'"{value[:200]}" is no absolute path; programs do not know where the scenario lies')
    return value


class RunOptions(Model):
    """How the runs are made. None stands for "auto"; `start_jitter` and `time_limit` are ns, `memory` bytes.

    `read`: files and directories beyond the scenario's own that its programs need, which `--read` allows them.
    """

    start_jitter: AutoDuration = None
    memory: Annotated[int | None, BeforeValidator(_memory), WithJsonSchema({"type": "string"})] = None
    time_limit: AutoDuration = None
    tuner: Name = "default"
    read: tuple[Annotated[Line, AfterValidator(_path)], ...] = ()


class Capture(Model):
    """A packet capture `at` "link:node", `snap` bytes of each packet (0: all), an optional pcap `filter`."""

    at: str
    snap: int = Field(default=128, ge=0, le=262144)
    filter: Line | None = None


class Record(Model):
    """What is written down: exact events where the engine can, and samples every `sample` ns.

    `sample` None is "auto": 100 ms, and 1 s beside exact records, which hold all that samples do and more.
    """

    exact: bool = True
    sample: PositiveDuration | None = None
    captures: tuple[Capture, ...] = ()

    @property
    def sample_ns(self) -> int:
        """The sampling interval, decided."""
        if self.sample is not None:
            return self.sample
        return 1_000_000_000 if self.exact else 100_000_000


class Node(Model):
    """A host, or a router when it forwards."""

    forward: bool = False
    sysctl: Sysctl = Field(default_factory=dict)


Addresses = Annotated[
    tuple[str, ...],
    BeforeValidator(lambda value: (value,) if isinstance(value, str) else value),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
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
    """Two nodes joined: a rate and a queue at each sending end, and a wire between them."""

    ends: Annotated[tuple[Name, ...], Field(min_length=1)]
    interfaces: tuple[InterfaceName, InterfaceName] | None = None
    addresses: tuple[Addresses, Addresses] | None = None
    trace: Annotated[Directed[TraceField | None], either_way(plain_is_both=True)] = _NO_TRACE
    rate: Annotated[Directed[Rate], both_ways(), BeforeValidator(_rate_or_trace)] = Field(
        default=None, validate_default=True
    )
    delay: Annotated[Directed[Duration], both_ways("0s")] = _NO_DELAY
    jitter: Annotated[Directed[JitterField], both_ways("0s")] = _NO_JITTER
    loss: Annotated[Directed[LossField], both_ways("0%")] = _NO_LOSS
    duplicate: Annotated[Directed[Percent], both_ways("0%")] = _NEVER
    corrupt: Annotated[Directed[Percent], both_ways("0%")] = _NEVER
    reorder: Annotated[Directed[Percent], both_ways("0%")] = _NEVER
    queue: Annotated[Directed[Queue | None], either_way(plain_is_both=False)] = _DEFAULT_QUEUE
    mtu: int = Field(default=1500, ge=68, le=65535)
    offload: bool = False
    raw: dict[str, tuple[Line, ...]] = Field(default_factory=dict)


class Change(Model):
    """Properties of a link that change at a moment of the run; what is not named stays as it is.

    With `over` they get there in steps, one every `step`, on a straight line from what they were. `outage`: for so long
    nothing gets through the wire. With `repeat` all of it happens again after each such time, `times` in all.
    """

    at: Duration
    link: str
    over: PositiveDuration | None = None
    step: PositiveDuration | None = None
    repeat: PositiveDuration | None = None
    times: int | None = Field(default=None, ge=1)
    outage: Annotated[Directed[PositiveDuration | None], either_way(plain_is_both=True)] | None = None
    rate: Annotated[Directed[Rate | None], either_way(plain_is_both=True)] | None = None
    delay: Annotated[Directed[Duration | None], either_way(plain_is_both=True)] | None = None
    jitter: Annotated[Directed[JitterField | None], either_way(plain_is_both=True)] | None = None
    loss: Annotated[Directed[LossField | None], either_way(plain_is_both=True)] | None = None
    queue: Annotated[Directed[Queue | None], either_way(plain_is_both=False)] | None = None


def _no_program(value: object) -> None:
    """A tuner that is a program, such as bpftune, has its place here once there are engines that it can run in."""
    if value is not None:
        raise ValueError(
            "programs as tuners come with the real-time engines; in virtual time a tuner is a set of sysctls, a queue, "
            "or both"
        )


class Tuner(Model):
    """What some nodes (None: all of them) are tuned with before the flows start: sysctls, and a queue in place of those
    at their ends of links, as net.core.default_qdisc gives a host. One more thing a sweep can vary, as `run.tuner`."""

    nodes: tuple[str, ...] | None = None
    sysctl: Sysctl = Field(default_factory=dict)
    queue: Queue | None = None
    command: Annotated[None, BeforeValidator(_no_program)] = None

    def tunes(self, node: str) -> bool:
        """Whether this node is among those it is for."""
        return self.nodes is None or node in self.nodes


class Case(Model):
    """A named point: paths and the values they take in it, those of the presets it uses among them."""

    name: str = Field(min_length=1, max_length=100)
    use: tuple[str, ...] = ()
    set: dict[str, Any] = Field(default_factory=dict)


Scalar = str | int | float | bool
Selection = dict[str, Scalar | tuple[Scalar, ...]]
"""What to look at: `name`, `case`, `seed` or a swept path, and its value, or a list of values any of which will do."""


class Expectation(Model):
    """A condition on a metric `scope.name`, checked in every run that `where` selects: bounds, an order, or a value.

    `ascending`: every value that a step selects is below every value of the next, among runs that are otherwise alike.
    Both must hold with every seed, or with at least `share` of them.
    `equals`: the mean over the seeds of each point is that, `within` a fraction of it or within the mean's own
    99.9 % confidence interval.
    """

    metric: str
    where: Selection = Field(default_factory=dict)
    ascending: tuple[Selection, ...] = ()
    min: float | None = Field(default=None, allow_inf_nan=False)
    max: float | None = Field(default=None, allow_inf_nan=False)
    equals: float | None = Field(default=None, allow_inf_nan=False)
    within: Within | None = None
    share: Share | None = None


class Scenario(Model):
    """A validated scenario; `source` keeps the text it came from."""

    name: Name
    summary: str = ""
    duration: PositiveDuration
    warmup: Duration = 0
    seeds: Seeds = (1,)
    run: RunOptions = RunOptions()
    record: Record = Record()
    nodes: dict[Name, Node] = Field(min_length=1)
    links: dict[Name, Link] = Field(min_length=1)
    flows: dict[Name, Flow] = Field(default_factory=dict)
    changes: tuple[Change, ...] = ()
    tuners: dict[Name, Tuner] = Field(default_factory=dict)
    sweep: dict[str, tuple[Any, ...]] = Field(default_factory=dict)
    presets: dict[Name, dict[str, Any]] = Field(default_factory=dict)
    cases: tuple[Case, ...] = ()
    baseline: str | None = None  # the case that figures compare the others with
    expect: tuple[Expectation, ...] = ()
    views: tuple[Annotated[str, AfterValidator(view_name)], ...] = ()

    _source: Source | None = PrivateAttr(default=None)

    @property
    def tuner(self) -> Tuner | None:
        """The tuner in use, if any."""
        return self.tuners.get(self.run.tuner)

    @property
    def source(self) -> Source:
        """Where this scenario came from: its text, its data, and what was set from outside."""
        if self._source is None:
            raise ScenarioError("this scenario was not made by load_scenario, so it has no source")
        return self._source


SECTIONS: tuple[Literal["nodes", "links", "flows", "tuners"], ...] = ("nodes", "links", "flows", "tuners")
"""The tables whose keys are names the author gave."""
