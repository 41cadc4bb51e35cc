"""Every field of the scenario model changes a run's id, or is named among those that do not count."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from netwarp.flows import KINDS
from netwarp.flows.arrivals import Arrivals
from netwarp.flows.mptcp import MptcpFlow
from netwarp.flows.options import OPTIONS
from netwarp.flows.transfer_size import TransferSize
from netwarp.lab_format.wires import PROPERTIES
from netwarp.lab_format.wires.netem import FourState, GilbertElliott, Jitter, RandomLoss
from netwarp.lab_format.wires.planned import Plan
from netwarp.plan import make_plan
from netwarp.scenario import ScenarioError, parse_scenario
from netwarp.scenario.model import Scenario
from netwarp.scenario.model.condition import Condition
from netwarp.scenario.model.node import Nat
from netwarp.scenario.model.trace import Row, Trace
from netwarp.scenario.points.identity import UNCOUNTED
from netwarp.scenario.points.resolve import Resolver
from netwarp.values.fields import Directed, Distribution
from pydantic import BaseModel

FLOWS = {
    "bulk": "",
    "cbr": 'rate = "1mbit"\n',
    "poisson": 'rate = "1mbit"\n',
    "on_off": 'rate = "1mbit"\non = "1s"\noff = "1s"\n',
    "media": 'control = "gcc"\n',
    "mptcp": "",
    "sctp": "",
    "request": "response_size = 1000\n",
    "incast": "senders = 2\nresponse_size = 1000\n",
    "open_loop": 'arrivals = "poisson 1/s"\nsize = 1000\n',
    "quic": 'start = "2s"\n',
    "quic_datagrams": 'rate = "1mbit"\n',
    "http": 'start = "2s"\nobjects = 3\n',
    "video": "",
    "iperf3": "",
    "ping": "",
    "command": 'client = ["true"]\n',
}
OPTIONED = (
    ("TcpFlow", "tcp"),
    ("UdpFlow", "udp"),
    ("MediaFlow", "udp"),
    ("QuicConnectionFlow", "udp"),
    ("PingFlow", "icmp"),
    ("SctpFlow", "sctp"),
)
"""Models with options of flows, and their transports."""
TIMES = ("start", "duration", "on", "off", "think")
"""Fields that take a fixed time, or a distribution."""
BASE = """\
name = "t"
duration = "10s"
[run]
tuner = "used"
[nodes]
h1 = {}
h2 = {}
h3 = {}
h4 = { forward = true }
[links.l]
ends = ["h1", "h2"]
rate = "1gbit"
delay = "1s"
[links.m]
ends = ["h3", "h2"]
rate = "1gbit"
[links.n]
ends = ["h1", "h3"]
rate = "1gbit"
[[changes]]
at = "1s"
link = "n"
rate = "2mbit"
[[changes]]
at = "1s"
flow = "request"
active = 1
[tuners.used]
nodes = ["h1"]
queue = "pfifo limit 100"
[[cases]]
name = "a"
[[record.captures]]
at = "n:h1"
""" + "".join(f'[flows.{tool}]\nfrom = "h1"\nto = "h2"\ntool = "{tool}"\n{more}' for tool, more in FLOWS.items())

TOML = tuple[str, str]
"""Two values of a field, as `--set` takes them; an empty one leaves the base unchanged."""

EI = "endpoint-independent"
VALUES: dict[str, TOML] = {
    "Scenario.name": ("", "other"),
    "Scenario.summary": ("", "other"),
    "Scenario.modules": ("", '["one.c"]'),
    "Module.name": ('["one.c"]', '["renamed.c"]'),
    "Module.files": ('["one.c"]', '["changed/one.c"]'),
    "Module.parameters": ('["one.c"]', '[{ file = "one.c", parameters = { limit = 1 } }]'),
    "Scenario.duration": ("", "9s"),
    "Scenario.warmup": ("", "1s"),
    "Scenario.seeds": ("", "[1, 2]"),
    "Scenario.baseline": ("", "a"),
    "Scenario.figures": ("", '["rtt-bulk"]'),
    "Scenario.views": ("", '["tuners"]'),
    "RunOptions.start_jitter": ("", "1ms"),
    "RunOptions.memory": ("", "512M"),
    "RunOptions.keep": ("", "512M"),
    "RunOptions.time_limit": ("", "5s"),
    "RunOptions.cpus": ("", "2"),
    "RunOptions.read": ("", '["/usr"]'),
    "Record.exact": ("", "false"),
    "Record.sample": ("", "3ms"),
    "Record.keep": ("", "summary"),
    "Record.queue_states": ("", '["n:h1"]'),
    "Capture.at": ("", '[{ at = "n:h3" }]'),
    "Capture.snap": ("", '[{ at = "n:h1", snap = 96 }]'),
    "Capture.filter": ("", '[{ at = "n:h1", filter = "icmp" }]'),
    "Node.forward": ("false", "true"),
    "Node.sysctl": ("", '{"net.ipv4.tcp_ecn" = 1}'),
    "Node.syscall_time": ("", "300ns"),
    "Node.energy": ("", "lte"),
    "Nat.mapping": (EI, '{ mapping = "address-dependent", filtering = "endpoint-independent" }'),
    "Nat.filtering": (EI, '{ filtering = "address-dependent" }'),
    "Nat.outside": (EI, '{ filtering = "endpoint-independent", outside = "m" }'),
    "Nat.ports": (EI, '{ filtering = "endpoint-independent", ports = "random" }'),
    "Nat.hairpinning": (EI, '{ filtering = "endpoint-independent", hairpinning = false }'),
    "Nat.timeout": (EI, '{ filtering = "endpoint-independent", timeout = "2min" }'),
    "Link.like": ("", "cable"),
    "Link.energy": ("", "10gbase-t-eee"),
    "Link.ends": ("", '["h2", "h1"]'),
    "Link.interfaces": ("", '["a", "b"]'),
    "Link.addresses": ("", '["10.9.0.1/24", "10.9.0.2/24"]'),
    "Link.rate": ("1gbit", "2gbit"),
    **{
        f"Link.{one.name}": (one.nothing_written, one.examples[0])
        for one in PROPERTIES
        if one.nothing == 0 and not one.plan
    },
    "Link.delay": ("1s", "2s"),
    "Link.queue": ("pfifo limit 5", "pfifo limit 6"),
    "Link.mtu": ("", "1400"),
    "Link.offload": ("", "true"),
    "Link.ring": ("1", "16"),
    "Link.wire": ("", "device"),
    "Link.raw": ("", '{h2 = ["qdisc add dev {dev} root pfifo"]}'),
    "Change.at": ("", "2s"),
    "Condition.flow": ("bulk.snd_cwnd_pkts > 9", "request.snd_cwnd_pkts > 9"),
    "Condition.variable": ("bulk.snd_cwnd_pkts > 9", "bulk.in_flight_pkts > 9"),
    "Condition.relation": ("bulk.snd_cwnd_pkts > 9", "bulk.snd_cwnd_pkts >= 9"),
    "Condition.value": ("bulk.snd_cwnd_pkts > 9", "bulk.snd_cwnd_pkts > 8"),
    "Change.link": ("", "m"),
    "Change.flow": ("", "incast"),
    "Change.active": ("", "0"),
    "Change.over": ("", "2s"),
    "Change.step": ("", "50ms"),
    "Change.repeat": ("", "2s"),
    "Change.times": ("", "2"),
    "Change.outage": ("1ms", "2ms"),
    "Change.rate": ("3mbit", "4mbit"),
    "Change.delay": ("1ms", "2ms"),
    "Change.queue": ("pfifo limit 5", "pfifo limit 6"),
    "Jitter.ns": ("1ms", "2ms"),
    "Jitter.correlation": ("1ms 25%", "1ms 26%"),
    "Jitter.distribution": ("1ms distribution normal", "1ms distribution pareto"),
    "RandomLoss.model": ("1%", "gemodel 1%"),
    "RandomLoss.p": ("1%", "2%"),
    "RandomLoss.ecn": ("1%", "1% ecn"),
    "RandomLoss.correlation": ("1% 25%", "1% 26%"),
    "GilbertElliott.model": ("gemodel 1% 2% 3% 4%", "state 1% 2% 3% 4% 5%"),
    "GilbertElliott.p": ("gemodel 1% 2% 3% 4%", "gemodel 9% 2% 3% 4%"),
    "GilbertElliott.r": ("gemodel 1% 2% 3% 4%", "gemodel 1% 9% 3% 4%"),
    "GilbertElliott.one_minus_h": ("gemodel 1% 2% 3% 4%", "gemodel 1% 2% 9% 4%"),
    "GilbertElliott.one_minus_k": ("gemodel 1% 2% 3% 4%", "gemodel 1% 2% 3% 9%"),
    "FourState.model": ("state 1% 2% 3% 4% 5%", "1%"),
    "FourState.p13": ("state 1% 2% 3% 4% 5%", "state 9% 2% 3% 4% 5%"),
    "FourState.p31": ("state 1% 2% 3% 4% 5%", "state 1% 9% 3% 4% 5%"),
    "FourState.p32": ("state 1% 2% 3% 4% 5%", "state 1% 2% 9% 4% 5%"),
    "FourState.p23": ("state 1% 2% 3% 4% 5%", "state 1% 2% 3% 9% 5%"),
    "FourState.p14": ("state 1% 2% 3% 4% 5%", "state 1% 2% 3% 4% 9%"),
    "Plan.every": ("every 100", "every 101"),
    "Plan.numbers": ("packets 1, 2", "packets 1, 3"),
    "Plan.from_ns": ("from 1s to 2s", "from 1.5s to 2s"),
    "Plan.to_ns": ("from 1s to 2s", "from 1s to 3s"),
    "Plan.kind": ("every 100 data", "every 100 acks"),
    "Plan.flow": ("every 100", "every 100 of bulk"),
    "Row.at_ns": ("one.csv", "at.csv"),
    "Row.rate_bps": ("one.csv", "rate.csv"),
    "Row.delay_ns": ("one.csv", "delay.csv"),
    "Row.loss": ("one.csv", "loss.csv"),
    "Trace.period_ns": ("one.csv", "period.csv"),
    "Trace.opportunities": ("one.mahi", "other.mahi"),
    "Tuner.nodes": ("", '["h2"]'),
    "Tuner.sysctl": ("", '{"net.ipv4.tcp_ecn" = 1}'),
    "Tuner.queue": ("", "pfifo limit 101"),
    "Tuner.program": ("", '["sleep", "100"]'),
    "FlowBase.from_": ("", "h3"),
    "FlowBase.to": ("", "h3"),
    "FlowBase.count": ("", "2"),
    "FlowBase.family": ("", "ipv6"),
    "BulkFlow.cc": ("", "bbr"),
    "BulkFlow.connect_ahead": ("", "1s"),
    "UdpFlow.rate": ("", "2mbit"),
    **{
        f"{owner}.{option.name}": ("", json.dumps(option.examples[0]))
        for owner, transport in OPTIONED
        for option in OPTIONS
        if transport in option.transports
    },
    "MptcpFlow.cc": ("", "bbr"),
    "MptcpFlow.links": ("", "[]"),
    "MptcpFlow.backup": ("", '["l"]'),
    "MptcpFlow.receiver": ("", "tcp"),
    **{
        f"MptcpFlow.{name}": ("", json.dumps(option.examples[0]))
        for name, option in ((option.name, option) for option in OPTIONS)
        if name in MptcpFlow.model_fields
    },
    "SctpFlow.message_size": ("", "1000B"),
    "SctpFlow.streams": ("", "2"),
    "SctpFlow.ordered": ("", "false"),
    "RequestFlow.cc": ("", "bbr"),
    "RequestFlow.service": ("", "5ms"),
    "IncastFlow.senders": ("", "3"),
    "IncastFlow.cc": ("", "bbr"),
    "MediaFlow.codec": ("g711", "g729"),
    "MediaFlow.rate": ("", "2mbit"),
    "MediaFlow.control": ("", "none"),
    "MediaFlow.min_rate": ("", "200kbit"),
    "MediaFlow.max_rate": ("", "3mbit"),
    "MediaFlow.interval": ("", "30ms"),
    "MediaFlow.feedback": ("", "50ms"),
    "MediaFlow.playout": ("", "60ms"),
    "MediaFlow.deadline": ("", "60ms"),
    "OpenLoopFlow.cc": ("", "bbr"),
    "QuicConnectionFlow.cc": ("", "newreno"),
    "QuicConnectionFlow.datagram_size": ("", "1200"),
    "QuicConnectionFlow.gso": ("", "true"),
    "QuicDatagramsFlow.rate": ("", "2mbit"),
    "QuicDatagramsFlow.message_size": ("", "300"),
    "QuicDatagramsFlow.backlog": ("", "20kB"),
    "QuicFlow.streams": ("", "2"),
    "QuicFlow.zero_rtt": ("", "true"),
    "QuicFlow.resume_ahead": ("", "500ms"),
    "WebFlow.version": ("", "3"),
    "WebFlow.tls": ("", "false"),
    "WebFlow.cc": ("", "bbr"),
    "HttpFlow.connections": ("", "4"),
    "HttpFlow.document": ("", "1kB"),
    "HttpFlow.objects": ("", "4"),
    "HttpFlow.depth": ("", "2"),
    "HttpFlow.urgent": ("", "1"),
    "HttpFlow.pages": ("", "1"),
    "HttpFlow.zero_rtt": ("", "true"),
    "HttpFlow.resume_ahead": ("", "500ms"),
    "VideoFlow.player": ("", "rate"),
    "VideoFlow.bitrates": ("", '["1mbit"]'),
    "VideoFlow.segment": ("", "2s"),
    "VideoFlow.segments": ("", "30"),
    "VideoFlow.size_sigma": ("", "0.3"),
    "VideoFlow.buffer": ("", "60s"),
    "VideoFlow.startup": ("", "8s"),
    "VideoFlow.reservoir": ("", "6s"),
    "VideoFlow.cushion": ("", "15s"),
    "VideoFlow.safety": ("", "80%"),
    "OpenLoopFlow.load": ("50%", "60%"),
    "OpenLoopFlow.load_of": ("", "l"),
    "Arrivals.process": ("every 1s", "poisson 1/s"),
    "Arrivals.interval_ns": ("every 1s", "every 2s"),
    "Arrivals.times_ns": ("times.csv", "later.csv"),
    "TransferSize.mean": ("100", "101"),
    "TransferSize.distribution": ("100", "100 exponential"),
    "TransferSize.shape": ("100 pareto 1.5", "100 pareto 1.6"),
    "TransferSize.cdf": ("sizes.csv", "larger.csv"),
    "Iperf3Flow.protocol": ("", "udp"),
    "Iperf3Flow.cc": ("", "bbr"),
    "Iperf3Flow.rate": ("", "1mbit"),
    "Iperf3Flow.bytes": ("", "1MB"),
    "Iperf3Flow.args": ("", '["-N"]'),
    "PingFlow.interval": ("", "1s"),
    "PingFlow.size": ("", "57"),
    "CommandFlow.client": ("", '["false"]'),
    "CommandFlow.server": ("", '["true"]'),
    "CommandFlow.ready": ("", "port 1"),
    "packet_size/Distribution.mean": ("100", "101"),
    "packet_size/Distribution.distribution": ("100", "100 exponential"),
    **{f"{name}/Distribution.mean": ("100ms", "101ms") for name in TIMES},
    **{f"{name}/Distribution.distribution": ("100ms", "100ms pareto") for name in TIMES},
    **{f"{name}/Distribution.mean": ("100", "101") for name in ("request_size", "response_size")},
    **{f"{name}/Distribution.distribution": ("100", "100 pareto") for name in ("request_size", "response_size")},
}
WITH = {
    **{f"Nat.{name}": ("nodes.h3.forward=true",) for name in Nat.model_fields},
    **{f"Plan.{name}": ("links.m.wire=device", "links.m.delay=1s") for name in Plan.model_fields},
    "Link.ring": ("links.m.wire=device",),
    "Change.step": ("changes.0.over=2s",),
    "Change.repeat": ("changes.0.outage=10ms",),
    "Change.times": ("changes.0.outage=10ms", "changes.0.repeat=2s"),
    "CommandFlow.ready": ('flows.command.server=["true"]',),
    "BulkFlow.connect_ahead": ("flows.bulk.start=2s",),
    "MediaFlow.codec": ("flows.media.control=none",),
    "MediaFlow.control": ("flows.media.rate=1mbit",),
    "OpenLoopFlow.load": ("flows.open_loop.arrivals=poisson",),
    "OpenLoopFlow.load_of": ("flows.open_loop.arrivals=poisson", "flows.open_loop.load=50%"),
    "QuicFlow.resume_ahead": ("flows.quic.zero_rtt=true",),
    "WebFlow.tls": ("flows.http.version=1.1", "flows.video.version=1.1"),
    "VideoFlow.reservoir": ("flows.video.player=buffer",),
    "VideoFlow.cushion": ("flows.video.player=buffer",),
    "VideoFlow.safety": ("flows.video.player=rate",),
    "HttpFlow.connections": ("flows.http.version=1.1",),
    "HttpFlow.depth": ("flows.http.objects=2",),
    "HttpFlow.urgent": ("flows.http.version=3", "flows.http.objects=1"),
    "HttpFlow.zero_rtt": ("flows.http.version=3",),
    "HttpFlow.resume_ahead": ("flows.http.version=3", "flows.http.zero_rtt=true"),
}
"""Settings that some fields require, before and after."""
WHOLE = {
    **{f"Capture.{name}": "record.captures" for name in ("at", "snap", "filter")},
    **{f"Module.{name}": "modules" for name in ("name", "files", "parameters")},
    **{f"Nat.{name}": "nodes.h3.nat" for name in Nat.model_fields},
}
"""Fields that cannot be set alone: their values are those of the whole section."""
FILE_ONLY = {
    "Scenario.sweep": '[sweep]\n"links.n.mtu" = [1500, 1400]\n',
    "Scenario.cases": '[[cases]]\nname = "b"\nset = { "links.n.mtu" = 1400 }\n',
    "Scenario.presets": '[presets.p]\n"links.n.mtu" = 1400\n',
    "Scenario.expect": '[[expect]]\nmetric = "flow.goodput_mbps"\nmin = 1\n',
    "Scenario.tuners": '[tuners.idle]\nsysctl = { "net.ipv4.tcp_ecn" = 1 }\n',
    "Scenario.nodes": "[nodes.more]\n",
    "Scenario.links": '[links.more]\nends = ["h3", "h4"]\nrate = "1gbit"\n',
    "Scenario.flows": '[flows.more]\nfrom = "h1"\nto = "h2"\ntool = "bulk"\n',
    "Scenario.changes": '[[changes]]\nat = "2s"\nlink = "n"\nrate = "3mbit"\n',
    "RunOptions.tuner": '[tuners.twin]\nnodes = ["h1"]\nqueue = "pfifo limit 100"\n',
}
"""Fields that only a longer file has."""
NO_VALUES = {
    "Scenario.kernel": "see test_a_kernel_counts_by_its_digest",
    "Scenario.topology": "see test_topologies.py, test_a_topology_counts_by_the_network_that_it_generates",
    "Module.place": "see test_module.py: a module counts by what its files say",
    **{f"Program.{name}": "see test_program.py" for name in ("place", "arguments", "files")},
    "Trace.name": "see test_a_trace_counts_by_its_content",
    "Row.line": "see test_a_trace_counts_by_its_content",
    **{f"{kind.model.__name__}.tool": "see test_the_tool_counts" for kind in KINDS.values()},
}
MODULES = {"one.c": "// one\n", "renamed.c": "// one\n", "changed/one.c": "// other\n"}
TRACES = {
    "one.csv": "time,rate,delay,loss\n0,1mbit,1ms,1%\n5,2mbit,1ms,1%\n",
    "at.csv": "time,rate,delay,loss\n0,1mbit,1ms,1%\n6,2mbit,1ms,1%\n",
    "rate.csv": "time,rate,delay,loss\n0,1mbit,1ms,1%\n5,3mbit,1ms,1%\n",
    "delay.csv": "time,rate,delay,loss\n0,1mbit,1ms,1%\n5,2mbit,2ms,1%\n",
    "loss.csv": "time,rate,delay,loss\n0,1mbit,1ms,1%\n5,2mbit,1ms,2%\n",
    "period.csv": "time,rate,delay,loss\n0,1mbit,1ms,1%\n5,2mbit,1ms,1%\n8\n",
    "times.csv": "time\n0\n1\n",
    "later.csv": "time\n0\n2\n",
    "sizes.csv": "bytes,share\n100,0.5\n200,1\n",
    "larger.csv": "bytes,share\n100,0.6\n220,1\n",
    "one.mahi": "5\n10\n",
    "other.mahi": "6\n10\n",
    "same.csv": "# the same\ntime,rate,delay,loss\n0,1mbit,1ms,1%\n5,2mbit,1ms,1%\n",
}


TEXT_MODELS = (
    *(Condition, Distribution, Arrivals, TransferSize, Jitter, RandomLoss, GilbertElliott, FourState, Trace),
    Plan,
)
"""Models that a file writes as one value."""
PLACES = {"nodes": "nodes.h3", "links": "links.m", "tuners": "tuners.used", "changes": "changes.0"}
NOT_WALKED = ("cases", "expect", "figures", "topology")
"""Sections that do not count as a whole."""


def walk(model: type[BaseModel], path: str = "", owner: str = "") -> Iterator[tuple[str, str]]:
    """The path by which `--set` finds each field of a model, and the field (`Class.field`); through unions and nested
    models, and in both directions of a link."""
    for name, field in model.model_fields.items():
        defined = next(c.__name__ for c in reversed(model.__mro__) if name in getattr(c, "__annotations__", {}))
        key = f"{owner}/{defined}.{name}" if model is Distribution else f"{defined}.{name}"
        at = path if model in TEXT_MODELS else f"{path}.{field.alias or name}".lstrip(".")
        if model is Scenario and models_in(field.annotation) and not isinstance(field.annotation, type):
            yield at, key
        if at not in NOT_WALKED:
            yield from _below(field.annotation, at, key)


def _below(annotation: object, at: str, key: str) -> Iterator[tuple[str, str]]:
    found = models_in(annotation)
    if not found:
        yield at, key
    for model in found:
        if model is Row:
            yield from ((at, f"Row.{name}") for name in Row._fields)
        elif issubclass(model, Directed):
            for way in ("forward", "reverse"):
                yield from _below(model.model_fields[way].annotation, f"{at}.{way}", key)
        else:
            tools = [kind.tool for kind in KINDS.values() if kind.model is model]
            place = f"flows.{tools[0]}" if tools else PLACES.get(at, at)
            yield from walk(model, place, key.partition(".")[2])


def models_in(annotation: object) -> list[type[Any]]:
    """The models among the parts of an annotation."""
    if isinstance(annotation, type) and (annotation is Row or issubclass(annotation, BaseModel)):
        return [annotation]
    return list(dict.fromkeys(model for part in get_args(annotation) for model in models_in(part)))


OF_A_FLOW = re.compile(r"changes\.0\.(flow|think|active)$")
"""Fields that only a change of a flow has: the second."""
FIELDS = [(OF_A_FLOW.sub(r"changes.1.\1", path), key) for path, key in walk(Scenario)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with traces and modules."""
    place = tmp_path_factory.mktemp("traces")
    (place / "changed").mkdir()
    for name, text in (TRACES | MODULES).items():
        (place / name).write_text(text)
    return place


def ids(folder: Path, text: str, *settings: str) -> set[str]:
    """The ids of all runs of a scenario."""
    return {run.id for run in make_plan(parse_scenario(text, settings=settings, folder=folder), seeds=[1])}


def counts(path: str, key: str) -> bool:
    """Whether a field should change the id."""
    return not {key.partition(".")[2] if key.startswith("Scenario.") else path, path} & UNCOUNTED.keys()


def test_every_field_has_two_values() -> None:
    keys = {key for _, key in FIELDS}
    assert len(FIELDS) > 150
    assert keys == set(VALUES) | set(FILE_ONLY) | set(NO_VALUES)


@pytest.mark.parametrize(("path", "key"), [field for field in FIELDS if field[1] in VALUES])
@pytest.mark.slow
def test_another_value_is_another_run(folder: Path, path: str, key: str) -> None:
    before, after = VALUES[key]
    at, more = WHOLE.get(key, path), WITH.get(key, ())
    base = ids(folder, BASE, *more, *([f"{at}={before}"] if before else []))
    other = ids(folder, BASE, *more, f"{at}={after}")
    assert (base != other) == counts(path, key)


@pytest.mark.parametrize("key", FILE_ONLY)
def test_a_longer_file_is_another_run(folder: Path, key: str) -> None:
    before, after = ids(folder, BASE), ids(folder, BASE + FILE_ONLY[key], *TWIN.get(key, ()))
    if key in ("Scenario.sweep", "Scenario.cases"):
        assert before < after, "the points that were there are the runs they were"
    else:
        assert (before != after) == counts(*next(field for field in FIELDS if field[1] == key))


TWIN = {"RunOptions.tuner": ("run.tuner=twin",)}


def test_the_tool_counts(folder: Path) -> None:
    assert ids(folder, BASE) != ids(folder, BASE, "flows.cbr.tool=poisson")


def test_a_trace_counts_by_its_content(folder: Path) -> None:
    one, same = (ids(folder, BASE, f"links.m.trace.forward={name}") for name in ("one.csv", "same.csv"))
    assert one == same


def test_a_field_that_is_new_counts() -> None:
    """A field that is added without thought: no list names it."""

    class Longer(Scenario):
        new: int = 0

    source = parse_scenario(BASE)
    found = set()
    for new in (0, 1):
        longer = Longer.model_construct(**dict(source), new=new)
        longer._source = source.source
        found.add(Resolver(longer, ()).canonical({}))
    assert len(found) == 2


def test_what_does_not_count_is_there_and_has_a_reason() -> None:
    known = {path for path, _ in FIELDS} | set(Scenario.model_fields)
    assert known >= UNCOUNTED.keys()
    assert all(len(reason.split()) > 2 for reason in UNCOUNTED.values())


def test_a_kernel_counts_by_its_digest() -> None:
    """Neither its name nor the plan's other kernels count."""

    def made(identity: dict[str, str], *settings: str) -> list[str]:
        scenario = parse_scenario(BASE.replace('[[cases]]\nname = "a"\n', ""), settings=settings)
        return [run.id for run in make_plan(scenario, identity={"kernel": "d0", "agent": "a"} | identity)]

    one, two = made({"kernel one": "d1", "kernel two": "d2"}, 'sweep.kernel=["one", "two"]')
    assert [one] == made({"kernel one": "d1"}, "kernel=one")
    assert [one] == made({"kernel renamed": "d1"}, "kernel=renamed")
    assert [one] == made({"kernel": "d1"}), "as when the engine has that kernel"
    assert one != two
    assert [two] != made({"kernel two": "d3"}, "kernel=two")
    with pytest.raises(ScenarioError, match="one and the same run"):
        made({"kernel one": "d1", "kernel two": "d1"}, "sweep.kernel=one,two")
    plan = make_plan(
        parse_scenario(BASE, settings=["sweep.kernel=one,two"]), identity={"kernel one": "d1", "kernel two": "d2"}
    )
    assert [(run.kernel, run.scenario.kernel) for run in plan] == [("d1", "one"), ("d2", "two")]
