"""Loading: right input becomes a Scenario, wrong input is reported with its line."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from netwarp.flows.bulk import BulkFlow
from netwarp.flows.cbr import CbrFlow
from netwarp.flows.command import CommandFlow
from netwarp.flows.iperf3 import Iperf3Flow
from netwarp.flows.on_off import OnOffFlow
from netwarp.flows.ping import PingFlow
from netwarp.flows.request import RequestFlow
from netwarp.lab_format.wires.netem import GilbertElliott
from netwarp.plan import make_plan
from netwarp.scenario import ScenarioError, load_scenario, parse_scenario, shipped_scenarios
from netwarp.scenario.model.paths import parse_setting, setting_of
from netwarp.scenario.model.schema import scenario_schema
from scenario_texts import DUMBBELL, replaced

EVERYTHING = """\
name = "all"
summary = "one of each"
duration = "20s"
warmup = "1s"
seeds = [3, 5]
[run]
start_jitter = "0s"
memory = "128M"
time_limit = "auto"
tuner = "small"
[record]
exact = false
sample = "50ms"
captures = [{ at = "b:r1", snap = 96, filter = "tcp port 5201" }]
[nodes]
h1 = { sysctl = { "net.ipv4.tcp_ecn" = 1 } }
r1 = { forward = true }
h2 = {}
[links.a]
ends = ["h1", "r1"]
rate = { forward = "1gbit", reverse = "100mbit" }
delay = { reverse = "3ms" }
offload = true
mtu = 9000
raw = { r1 = ["qdisc add dev {dev} root handle 1: tbf rate 3mbit burst 32kbit latency 50ms"] }
[links.b]
ends = ["r1", "h2"]
interfaces = ["enp0s8", "enp0s9"]
addresses = [["192.168.214.103/24", "fd00::1/64"], ["192.168.214.104/24", "fd00::2/64"]]
rate = "10mbit"
delay = "10ms"
jitter = "2ms normal"
loss = { forward = "gemodel 1% 10%" }
duplicate = "0.1%"
corrupt = "0.1%"
reorder = "1%"
queue = { forward = "red limit 150000 min 30000 max 90000 avpkt 1000", reverse = "fq_codel" }
[flows]
bulk = { from = "h1", to = "h2", tool = "bulk", cc = "bbr", count = 3, bytes = "10MB" }
cbr = { from = "h1", to = "h2", tool = "cbr", rate = "1mbit", packet_size = "exponential 600" }
poisson = { from = "h1", to = "h2", tool = "poisson", rate = "1mbit", packet_size = 1000, family = "ipv6" }
talk = { from = "h1", to = "h2", tool = "on_off", rate = "1mbit", on = "200ms exponential", off = "300ms" }
web = { from = "h2", to = "h1", tool = "request", request_size = 200, response_size = "30kB", think = "1s exponential" }
iperf = { from = "h1", to = "h2", tool = "iperf3", protocol = "udp", rate = "unlimited", args = ["-w", "1M"] }
ping = { from = "h1", to = "h2", tool = "ping", interval = "1s", size = 100 }
http = { from = "h1", to = "h2", tool = "command", client = ["curl", "x"], server = ["serve"], ready = "port 8080" }
[[changes]]
at = "10s"
link = "b"
rate = "1mbit"
loss = "0%"
[[changes]]
at = "12s"
link = "b"
queue = { reverse = "pfifo limit 10" }
delay = { forward = "1ms" }
[tuners.small]
nodes = ["h1", "h2"]
sysctl = { "net.ipv4.tcp_rmem" = "4096 131072 262144" }
[sweep]
"links.b.queue" = ["pfifo limit 20", "fq_codel"]
"flows.bulk.cc" = ["cubic", "bbr"]
[presets.slow]
"links.a.rate" = "5mbit"
"links.a.delay" = "5ms"
[[cases]]
name = "slow h1"
use = ["slow"]
set = { "links.a.delay" = "1ms" }
[[expect]]
metric = "flow.goodput_mbps"
where = { name = "bulk.2", "flows.bulk.cc" = "bbr", seed = 5, case = "slow h1" }
min = 9.0
[[expect]]
metric = "queue.drops"
where = { name = "b:r1" }
max = 9.0
share = "90%"
[[expect]]
metric = "flow.rtt_ms_p95"
where = { name = "ping", seed = [3, 5] }
ascending = [{ "links.b.queue" = "fq_codel" }, { "links.b.queue" = ["pfifo limit 20"] }]
"""


def test_everything_of_the_format() -> None:
    scenario = parse_scenario(EVERYTHING)
    link = scenario.links["b"]
    assert scenario.seeds == (3, 5)
    assert scenario.run.memory == 128 * 2**20
    assert scenario.nodes["h1"].sysctl == {"net.ipv4.tcp_ecn": "1"}
    assert (scenario.links["a"].rate.forward, scenario.links["a"].rate.reverse) == (10**9, 10**8)
    assert (scenario.links["a"].delay.forward, scenario.links["a"].delay.reverse) == (0, 3_000_000)
    assert (link.queue.reverse, link.jitter.forward.distribution) == ("fq_codel", "normal")
    assert isinstance(link.loss.forward, GilbertElliott)
    assert [type(flow) for flow in scenario.flows.values()][::2] == [
        BulkFlow,
        type(scenario.flows["poisson"]),
        RequestFlow,
        PingFlow,
    ]
    talk, iperf, http, cbr = (scenario.flows[name] for name in ("talk", "iperf", "http", "cbr"))
    assert isinstance(talk, OnOffFlow) and (talk.on.mean, talk.on.distribution) == (200_000_000, "exponential")
    assert isinstance(iperf, Iperf3Flow) and iperf.rate == 0
    assert isinstance(http, CommandFlow) and http.ready == "port 8080"
    assert isinstance(cbr, CbrFlow) and (cbr.packet_size.mean, cbr.packet_size.distribution) == (600, "exponential")
    change = scenario.changes[1]
    assert change.queue is not None and (change.queue.forward, change.queue.reverse) == (None, "pfifo limit 10")
    assert [expected.share for expected in scenario.expect] == [None, 0.9, None]
    order = scenario.expect[2]
    assert order.where == {"name": "ping", "seed": (3, 5)}
    assert order.ascending == ({"links.b.queue": "fq_codel"}, {"links.b.queue": ("pfifo limit 20",)})
    assert scenario.cases[0].set == {"links.a.rate": "5mbit", "links.a.delay": "1ms"}
    assert scenario.source.text == EVERYTHING


def test_queue_holds_forward_and_the_rest_both_ways() -> None:
    link = parse_scenario(DUMBBELL).links["bottleneck"]
    assert (link.queue.forward, link.queue.reverse) == ("pfifo limit 100", None)
    assert (link.delay.forward, link.delay.reverse) == (10_000_000, 10_000_000)


BAD = [
    (
        ("h1 = {}", "h1 = { forwrad = true }"),
        4,
        'nodes.h1.forwrad: "forwrad" is not a field of a node (did you mean "forward"?)',
    ),
    (('duration = "10s"', 'duration = "10s"\nwarmpu = "1s"'), 3, 'did you mean "warmup"?'),
    (('duration = "10s"', 'duration = "0s"'), 2, "must be longer than 0"),
    (('duration = "10s"', 'duration = "43201min"'), 2, "longer than 30 days"),
    (('duration = "10s"', ""), None, "`duration` is missing"),
    (('name = "t"', 'name = "a b"'), 1, "is not a name"),
    (('name = "t"', 'name = "t"\nwarmup = "10s"'), 2, "leaves nothing of the run"),
    (('name = "t"', 'name = "t"\nviews = ["tree-node"]'), 2, 'there is no view "tree-node"'),
    (('name = "t"', 'name = "t"\nviews = "three-node"'), 2, "must be a list"),
    (('tool = "bulk"', 'tool = "bulk"\ncount = 0'), 19, "nothing would be sent: every flow has a count of 0"),
    (('name = "t"', 'name = "t"\nbaseline = "as it is"'), 2, 'there is no case "as it is"'),
    (('name = "t"', 'name = "t"\nseeds = 0'), 2, "not a number of seeds"),
    (('name = "t"', 'name = "t"\nseeds = [1, 1]'), 2, "a seed is listed twice"),
    (('ends = ["h1", "r1"]', 'ends = ["h1", "r2"]'), 8, 'there is no node "r2" (known: h1, r1, h2)'),
    (('ends = ["h1", "r1"]', 'ends = ["h1"]'), 8, "exactly two ends, not 1"),
    (('ends = ["h1", "r1"]', 'ends = ["h1", "r1", "h2"]'), 8, "exactly two ends, not 3"),
    (('ends = ["h1", "r1"]', 'ends = ["h1", "h1"]'), 8, 'both ends are "h1"'),
    (('rate = "1gbit"', ""), 7, "the link has no `rate`"),
    (('rate = "1gbit"', 'rate = "0mbit"'), 9, "a rate of 0 would never send"),
    (('rate = "1gbit"', 'rate = "1gbps"'), 9, '"1gbit"'),
    (('rate = "1gbit"', 'rate = { forward = "1gbit" }'), 9, "`reverse` is missing"),
    (('rate = "1gbit"', 'rate = { forward = "1gbit", bakc = "1mbit", reverse = "1mbit" }'), 9, "is not a direction"),
    (('delay = "10ms"', 'delay = "-10ms"'), 13, "is negative"),
    (('delay = "10ms"', 'loss = "1.2"'), 13, "percent sign"),
    (('delay = "10ms"', 'reorder = "1%"'), 13, "needs a delay above 0"),
    (('delay = "10ms"', "mtu = 500"), 13, "must be at least 1280, not 500"),
    (('queue = "pfifo limit 100"', 'queue = "tc qdisc add"'), 14, "is not a queue"),
    (('queue = "pfifo limit 100"', 'queue = "pfifo limit 1"\nraw = { r1 = ["x"] }'), 14, "both a queue and `raw`"),
    (('queue = "pfifo limit 100"', 'raw = { h1 = ["x"] }'), 14, "is not an end of this link"),
    (('queue = "pfifo limit 100"', 'interfaces = ["enp0s8", "toolonginterface"]'), 14, "at most 15 characters"),
    (('queue = "pfifo limit 100"', 'interfaces = ["a/b", "c"]'), 14, "cannot name an interface"),
    (('queue = "pfifo limit 100"', 'interfaces = ["a b", "c"]'), 14, "cannot name an interface"),
    (('queue = "pfifo limit 100"', 'addresses = ["10.9.9.1", "10.9.9.2/24"]'), 14, "no prefix length"),
    (('queue = "pfifo limit 100"', 'addresses = ["10.9.9.300/24", "10.9.9.2/24"]'), 14, "is not an address"),
    (('queue = "pfifo limit 100"', 'addresses = ["10.9.9.1/24", "10.9.9.1/24"]'), 14, "both ends have the address"),
    (('queue = "pfifo limit 100"', 'addresses = ["10.9.9.1/24", "10.9.8.2/24"]'), 14, "different subnets"),
    (('queue = "pfifo limit 100"', 'addresses = ["10.9.9.0/24", "10.9.9.2/24"]'), 14, "first or last address"),
    (
        ('queue = "pfifo limit 100"', 'addresses = ["10.9.9.1/24", "fd00::1/64"]'),
        14,
        "only one end has an IPv4 address",
    ),
    (
        ('queue = "pfifo limit 100"', 'addresses = ["10.0.0.7/24", "10.0.0.8/24"]'),
        14,
        'overlaps 10.0.0.0/24 of link "access"',
    ),
    (("h2 = {}", "h2 = {}\nwire = {}"), 7, "netwarp's own namespace"),
    (("h2 = {}", 'h2 = { sysctl = { "x y" = 1 } }'), 6, "is not a sysctl"),
    (("r1 = { forward = true }", "r1 = {}"), 17, 'node "r1" does not pass packets on; add `forward = true`'),
    (('ends = ["r1", "h2"]', 'ends = ["r1", "h3"]'), 11, 'there is no node "h3"'),
    (('to = "h2"', 'to = "h1"'), 17, "a flow to itself"),
    (('to = "h2"', 'to = "h3"'), 17, 'there is no node "h3"'),
    (('to = "h2"', 'to = "h2"\nstart = "10s"'), 18, "the run of 10s is over"),
    (('to = "h2"', 'to = "h2"\nstart = "5s"\nduration = "6s"'), 19, "past the end of the run"),
    (('to = "h2"', 'to = "h2"\nstart = "1s"\nconnect_ahead = "2s"'), 19, "before the run begins"),
    (('to = "h2"', 'to = "h2"\nbytes = "1MB"\nduration = "6s"'), 18, "both given"),
    (('to = "h2"', 'to = "h2"\ninterval = "1s"'), 18, '"interval" belongs to media, ping, not to the tool "bulk"'),
    (('to = "h2"', 'to = "h2"\ncct = "bbr"'), 18, 'did you mean "cc"?'),
    (('to = "h2"', 'to = "h2"\ncount = -1'), 18, "must be at least 0, not -1"),
    (('tool = "bulk"', 'tool = "blk"'), 15, '"blk" is not a tool (did you mean "bulk"?)'),
    (('tool = "bulk"', ""), 15, "the flow has no `tool`"),
    (('tool = "bulk"', 'tool = "cbr"'), 15, "`rate` is missing"),
    (('tool = "bulk"', 'tool = "iperf3"\nprotocol = "udp"\ncc = "bbr"'), 20, "UDP has no congestion control"),
    (('tool = "bulk"', 'tool = "command"\nclient = ["x"]\nready = "port 1"'), 20, "no server to wait for"),
    (('name = "t"', 'name = "t"\nrun = { memory = "32M" }'), 2, 'the minimum is "64M"'),
    (
        ('name = "t"', 'name = "t"\nrun = { tuner = "smal" }\ntuners = { small = { sysctl = {} } }'),
        2,
        'did you mean "small"?',
    ),
    (('name = "t"', 'name = "t"\ntuners = { x = { nodes = ["h9"], sysctl = {} } }'), 2, 'there is no node "h9"'),
    (('name = "t"', 'name = "t"\ntuners = { x = { nodes = ["h1"] } }'), 2, "tunes nothing"),
    (('name = "t"', 'name = "t"\ntuners = { x = { queue = "fq" } }'), 2, "name the `nodes`"),
    (('name = "t"', 'name = "t"\ntuners = { x = { program = [] } }'), 2, "at least 1 item"),
    (
        ('name = "t"', 'name = "t"\ntuners = { x = { sysctl = { "net.core.default_qdisc" = "fq" } } }'),
        2,
        'write queue = "fq" in the tuner',
    ),
    (('name = "t"', 'name = "t"\nrecord = { captures = [{ at = "bottleneck:h1" }] }'), 2, 'is not a "link:node"'),
]


@pytest.mark.parametrize(("change", "line", "fragment"), BAD)
def test_bad_scenarios(change: tuple[str, str], line: int | None, fragment: str) -> None:
    with pytest.raises(ScenarioError) as refusal:
        parse_scenario(replaced(change), "t.toml")
    assert fragment in str(refusal.value)
    problem = next(problem for problem in refusal.value.problems if fragment in problem.render("t.toml"))
    assert problem.line == line


ORDER = '[[expect]]\nmetric = "queue.drops"\n'
BAD_TAILS = [
    ('[[changes]]\nat = "11s"\nlink = "bottleneck"\nrate = "1mbit"\n', 20, "the run of 10s is over"),
    ('[[changes]]\nat = "1s"\nlink = "bottlenek"\nrate = "1mbit"\n', 21, 'did you mean "bottleneck"?'),
    ('[[changes]]\nat = "1s"\nlink = "bottleneck"\n', 19, "changes nothing"),
    ('[[changes]]\nat = "1s"\nlink = "bottleneck"\nmtu = 1400\n', 22, '"mtu" is not a field of "changes"'),
    ('[[changes]]\nat = "1s"\nlink = "bottleneck"\nrate = "1kbit"\n', 22, "to the end the rate is 1kbit"),
    ('[sweep]\n"links.botleneck.queue" = ["a"]\n', 20, 'there is no "botleneck" in links (did you mean "bottleneck"?)'),
    ('[sweep]\n"links.bottleneck.queues" = ["a"]\n', 20, 'did you mean "queue"?'),
    ('[sweep]\n"links.bottleneck.queue" = []\n', 20, "has no values"),
    ('[sweep]\n"links.bottleneck.queue" = ["a", "a"]\n', 20, 'lists "a" more than once'),
    ('[sweep]\n"seeds" = [1, 2]\n', 20, "seeds are not swept"),
    ('[sweep]\n"flow.bulk.cc" = ["a"]\n', 20, 'did you mean "flows"?'),
    ('[sweep]\n"links" = ["a"]\n', 20, "needs a name and a field"),
    ('[sweep]\n"links.bottleneck" = ["a"]\n', 20, "needs a field"),
    ('[sweep]\n"flows.bulk.cc.x" = ["a"]\n', 20, "goes too deep"),
    ('[sweep]\n"links.access.rate.up" = ["1mbit"]\n', 20, "is not a direction"),
    (
        '[sweep]\n"links.access.rate" = ["1mbit"]\n"links.access.rate.reverse" = ["2mbit"]\n',
        21,
        "sets the same as the axis",
    ),
    ('[[cases]]\nname = "x"\nset = { "links.acess.rate" = "1mbit" }\n', 21, 'did you mean "access"?'),
    ('[[cases]]\nname = "x"\n[[cases]]\nname = "x"\n', 22, "names of cases are unique"),
    ('[[cases]]\nname="x"\nset = { warmup = "1s" }\n[sweep]\nwarmup = ["2s"]\n', 21, "a case sets what is not swept"),
    ('[presets.x]\n"links.acess.rate" = "1mbit"\n', 20, 'did you mean "access"?'),
    ("[presets]\nslow = 1\n", 20, "must be a table"),
    ('[presets.slow]\n[[cases]]\nname = "x"\nuse = ["slwo"]\n', 22, 'there is no preset "slwo" (did you mean "slow"?)'),
    ('[presets.slow]\n[[cases]]\nname = "x"\nuse = "slow"\n', 22, "must be a list"),
    ('[presets.p]\nwarmup = "1s"\n[[cases]]\nname="x"\nuse = ["p"]\n[sweep]\nwarmup = ["2s"]\n', 21, "not swept"),
    ('[[expect]]\nmetric = "goodput"\nmin = 1\n', 20, "is not a metric"),
    ('[[expect]]\nmetric = "flows.goodput"\nmin = 1\n', 20, "scopes are run, flow, subflow, queue, link"),
    ('[[expect]]\nmetric = "flow.goodput_mbps"\n', 20, "expects nothing"),
    ('[[expect]]\nmetric = "flow.goodput_mbps"\nmin = 2\nmax = 1\n', 21, "could never hold"),
    ('[[expect]]\nmetric = "flow.goodput_mbps"\nequals = 2\n', 21, 'within = "2%"'),
    ('[[expect]]\nmetric = "flow.goodput_mbps"\nequals = 2\nwithin = "2%"\nmin = 1\n', 21, "separate expectations"),
    ('[[expect]]\nmetric = "flow.goodput_mbps"\nequals = 2\nwithin = "interval"\n', 22, "at least two seeds"),
    ('[[expect]]\nmetric = "flow.goodput_mbps"\nmin = 2\nwithin = "2%"\n', 22, "needs `equals`"),
    ('[[expect]]\nmetric = "flow.goodput_mbps"\nequals = 2\nwithin = 2\n', 22, "percent sign"),
    ('[[expect]]\nmetric = "flow.goodput_mbps"\nmin = 2\nwhere = { name = "bluk" }\n', 22, 'did you mean "bulk"?'),
    (f'{ORDER}min = 1\nascending = [{{ name = "access:h1" }}, {{ name = "access:r1" }}]\n', 22, "each"),
    (f'{ORDER}ascending = [{{ name = "access:h1" }}]\n', 21, "at least two steps"),
    (f'{ORDER}ascending = [{{ name = "access:h1" }}, {{ seed = 1 }}]\n', 21, "names the same things"),
    (f'{ORDER}ascending = [{{ name = "access:h1" }}, {{ name = "acces:r1" }}]\n', 21, 'did you mean "access:r1"?'),
    (
        f'{ORDER}ascending = [{{ name = "access:h1" }}, {{ name = ["access:h1", "access:r1"] }}]\n',
        21,
        "select the same",
    ),
    (
        f'{ORDER}where = {{ name = "access:h1" }}\nascending = [{{ name = "access:h1" }}, {{ name = "access:r1" }}]\n',
        22,
        "fixed by",
    ),
    (f"{ORDER}min = 1\nwhere = {{ name = [] }}\n", 22, "lists nothing"),
    (f'{ORDER}min = 1\nshare = "100%"\n', 22, "leave it out to require all seeds"),
    (f'{ORDER}min = 1\nwhere = {{ seed = 1 }}\nshare = "90%"\n', 23, "`where` cannot choose a `seed`"),
    (f'{ORDER}equals = 1\nwithin = "2%"\nshare = "90%"\n', 23, "cannot be combined with `equals`"),
    ('[[expect]]\nmetric = "queue.drops"\nmin = 2\nwhere = { name = "access" }\n', 22, 'did you mean "access:'),
    ('[[expect]]\nmetric = "queue.drops"\nmin = 2\nwhere = { nmae = "access" }\n', 22, '"nmae" selects nothing'),
    ('[[expect]]\nmetric = "run.jain_index"\nmin = 2\nwhere = { seed = 9 }\n', 22, "seed 9 is not among"),
    ('[[expect]]\nmetric = "run.jain_index"\nmin = 2\nwhere = { case = "q" }\n', 22, 'there is no case "q"'),
    ("[[[\n", 19, "this is not TOML"),
    ("[nodes]\n", 19, "this is not TOML"),
]


@pytest.mark.parametrize(("tail", "line", "fragment"), BAD_TAILS)
def test_bad_additions(tail: str, line: int, fragment: str) -> None:
    with pytest.raises(ScenarioError) as refusal:
        parse_scenario(DUMBBELL + tail, "t.toml")
    assert f"t.toml:{line}: " in str(refusal.value)
    assert fragment in str(refusal.value)


def test_all_problems_at_once_in_the_order_of_the_file() -> None:
    text = replaced(('ends = ["h1", "r1"]', 'ends = ["h1", "h1"]'), ('to = "h2"', 'to = "h9"\nstart = "11s"'))
    with pytest.raises(ScenarioError) as refusal:
        parse_scenario(text, "t.toml")
    lines = str(refusal.value).splitlines()
    assert [line.split(": ")[0] for line in lines] == ["t.toml:8", "t.toml:17", "t.toml:18"]


def test_duplicate_interface() -> None:
    text = replaced(
        ('rate = "1gbit"', 'rate = "1gbit"\ninterfaces = ["a", "b"]'),
        ('delay = "10ms"', 'interfaces = ["b", "c"]'),
    )
    with pytest.raises(ScenarioError, match='node "r1" already has an interface "b"'):
        parse_scenario(text)


def test_disconnected() -> None:
    text = replaced(("h2 = {}", "h2 = {}\nh3 = {}"), ('to = "h2"', 'to = "h3"'))
    with pytest.raises(ScenarioError, match='no links lead from "h1" to "h3"'):
        parse_scenario(text)


@pytest.mark.parametrize(
    ("setting", "check"),
    [
        ("seeds=1", lambda s: s.seeds == (1,)),
        ("seeds=[4, 5]", lambda s: s.seeds == (4, 5)),
        ("links.access.rate=5mbit", lambda s: s.links["access"].rate.reverse == 5 * 10**6),
        ("links.access.rate.reverse=5mbit", lambda s: s.links["access"].rate.forward == 10**9),
        ("links.bottleneck.queue.reverse=fq_codel", lambda s: s.links["bottleneck"].queue.forward == "pfifo limit 100"),
        ("nodes.h1.forward=true", lambda s: s.nodes["h1"].forward),
        ("nodes.h1.sysctl.net.ipv4.tcp_ecn=1", lambda s: s.nodes["h1"].sysctl == {"net.ipv4.tcp_ecn": "1"}),
        ('nodes.h1.sysctl."net.ipv4.tcp_ecn"=1', lambda s: s.nodes["h1"].sysctl == {"net.ipv4.tcp_ecn": "1"}),
        ("flows.bulk.count = 3", lambda s: s.flows["bulk"].count == 3),
        ("run.memory=256M", lambda s: s.run.memory == 2**28),
        ("record.exact=false", lambda s: not s.record.exact),
        ("warmup=1s", lambda s: s.warmup == 10**9),
        ("flows.bulk.cc=bbr", lambda s: s.sweep["flows.bulk.cc"] == ("bbr",)),
        ("changes.0.rate=2mbit", lambda s: s.changes[0].rate.forward == 2 * 10**6),
    ],
)
def test_settings(setting: str, check: object) -> None:
    tail = '[[changes]]\nat = "1s"\nlink = "access"\nrate = "1mbit"\n[sweep]\n"flows.bulk.cc" = ["cubic", "reno"]\n'
    assert callable(check)
    assert check(parse_scenario(DUMBBELL + tail, settings=[setting]))


@pytest.mark.parametrize(
    ("setting", "fragment"),
    [
        ("links.access.rate", "is not PATH=VALUE"),
        ("=3", "is not PATH=VALUE"),
        (
            "links.acces.rate=1mbit",
            '--set links.acces.rate=1mbit: there is no "acces" in links (did you mean "access"?)',
        ),
        ("links.access.rate=1mbps", "--set links.access.rate=1mbps: "),
        ("links.access.rate=1\nx=2", "--set links.access.rate"),
        ("flows.bulk.to=h1", "a flow to itself"),
        ("..=3", "is not a dotted path"),
        ("sweep.x=3", "--sweep x=3: an axis needs a list of values, such as [3]"),
        ("tuners=3", "needs a name and a field"),
        (
            'tuners.ecn.sysctl={"net.ipv4.tcp_ecn"=1}',
            'nothing uses the tuner "ecn" that this adds; add --set run.tuner=ecn',
        ),
    ],
)
def test_bad_settings(setting: str, fragment: str) -> None:
    text = DUMBBELL + '[[cases]]\nname = "far"\nset = { "links.bottleneck.delay" = "90ms" }\n'
    with pytest.raises(ScenarioError) as refusal:
        parse_scenario(text, settings=[setting])
    assert fragment in str(refusal.value)


def test_files_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "bytes.toml").write_bytes(b"name = 1\n\xff\xfe\x00")
    (tmp_path / "huge.toml").write_bytes(b"#" * (5 * 2**20))
    (tmp_path / "windows.toml").write_bytes(b"\xef\xbb\xbf" + DUMBBELL.replace("\n", "\r\n").encode())
    for name, fragment in (
        ("bytes.toml", "bytes.toml:2: the file is not text in UTF-8"),
        ("huge.toml", "larger than 4 MiB"),
        ("", "this is a directory"),
        ("none.toml", "no such file"),
        ("x" * 5000, "cannot be a file"),
        ("a\0b", "a"),
    ):
        with pytest.raises(ScenarioError) as refusal:
            load_scenario(tmp_path / name)
        assert fragment in str(refusal.value)
    assert load_scenario(tmp_path / "windows.toml").name == "t"
    with pytest.raises(ScenarioError, match='did you mean "bufferbloat"'):
        load_scenario("buferbloat")


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.one_of(st.text(max_size=200), st.text(alphabet='[]{}="\n.abc1', max_size=80)))
def test_any_text_is_refused_without_a_traceback(text: str) -> None:
    with pytest.raises(ScenarioError):
        parse_scenario(text)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(st.data())
def test_damaged_scenarios_load_or_are_refused(data: st.DataObject) -> None:
    lines = EVERYTHING.splitlines()
    index = data.draw(st.integers(0, len(lines) - 1))
    key = lines[index].partition("=")[0] if "=" in lines[index] else "x"
    value = data.draw(
        st.sampled_from(["1", "-1", '""', "[]", "{}", "true", '["a"]', "{ x = 1 }", "nan", "2020-01-01", "[{}]", '"é"'])
    )
    lines[index] = f"{key} = {value}"
    try:
        parse_scenario("\n".join(lines))
    except ScenarioError as refusal:
        assert refusal.problems


@pytest.mark.parametrize("name", shipped_scenarios())
def test_shipped_scenarios_load(name: str) -> None:
    scenario = load_scenario(name)
    assert scenario.name == name
    assert scenario.summary


def test_schema_knows_the_format() -> None:
    schema = scenario_schema()
    assert {"nodes", "links", "flows", "sweep", "expect"} <= set(schema["properties"])
    assert {"BulkFlow", "PingFlow", "Link"} <= set(schema["$defs"])
    assert "from" in schema["$defs"]["BulkFlow"]["properties"]
    assert not [name for name in schema["$defs"] if "Directed" in name]
    plain, table = schema["$defs"]["Link"]["properties"]["rate"]["anyOf"]
    assert plain["type"] == "string"
    assert set(table["properties"]) == {"forward", "reverse"}
    for reference in re.findall(r'"#/[$]defs/(\w+)"', json.dumps(schema)):
        assert reference in schema["$defs"]


def test_axes_from_outside_the_file() -> None:
    scenario = parse_scenario(DUMBBELL, settings=['sweep.links.bottleneck.delay=["10ms", "20ms"]'])
    assert scenario.sweep == {"links.bottleneck.delay": ("10ms", "20ms")}
    swept = DUMBBELL + '[sweep]\n"links.bottleneck.delay" = ["90ms"]\n'
    replaced = parse_scenario(swept, settings=['sweep."links.bottleneck.delay"=["10ms", "20ms"]'])
    assert replaced.sweep == {"links.bottleneck.delay": ("10ms", "20ms")}


@pytest.mark.parametrize("setting", ['links.b.queue="codel"', 'sweep."links.b.queue"=["codel", "pie"]'])
def test_an_expectation_may_be_about_a_part_that_was_not_chosen(setting: str) -> None:
    """Whether the axis shrinks by --set or is replaced by --sweep."""
    scenario = parse_scenario(EVERYTHING, settings=[setting])
    assert "codel" in scenario.sweep["links.b.queue"]
    assert scenario.expect[2].ascending[0] == {"links.b.queue": "fq_codel"}


@pytest.mark.parametrize(
    ("setting", "fragment"),
    [
        ("sweep=3", '"sweep" needs the path that is varied'),
        ("sweep.links.bottleneck.dely=['1ms']", 'did you mean "delay"?'),
        ("sweep.links.bottleneck.delay=[]", "has no values"),
    ],
)
def test_bad_axes_from_outside(setting: str, fragment: str) -> None:
    with pytest.raises(ScenarioError, match=re.escape(fragment)):
        parse_scenario(DUMBBELL, settings=[setting])


@pytest.mark.parametrize("value", ["text", 'a "quote"\n', 5, 2.5, True, ["a", 1], {"min": 1, "a b": ["x"]}, "💡"])
def test_a_value_of_python_as_a_setting(value: object) -> None:
    assert parse_setting(setting_of("flows.bulk.cc", value)) == ("flows.bulk.cc", value)


@pytest.mark.parametrize(
    ("given", "value"),
    [
        ("bbr", "bbr"),
        ("pfifo limit 20", "pfifo limit 20"),
        (" fq_codel ", "fq_codel"),
        ("10mbit", "10mbit"),
        ("netem loss 1%", "netem loss 1%"),
        ("file:./tcp_mine.c window=50", "file:./tcp_mine.c window=50"),
        ('"bbr"', "bbr"),
        ("'bbr'", "bbr"),
        ("5", 5),
        ("true", True),
        ('"5"', "5"),
        ("[cubic, bbr]", ["cubic", "bbr"]),
        ("[pfifo limit 20,fq_codel]", ["pfifo limit 20", "fq_codel"]),
        ('["cubic", "bbr"]', ["cubic", "bbr"]),
        ("[1, 2]", [1, 2]),
        ("[5, 10ms]", [5, "10ms"]),
        ('{ forward = "1ms" }', {"forward": "1ms"}),
        ("echo {a,b}", "echo {a,b}"),
        ('"a b" c', '"a b" c'),
    ],
)
def test_text_of_a_setting_needs_no_quotes_and_toml_stays_toml(given: str, value: object) -> None:
    assert parse_setting(f"links.b.queue={given}") == ("links.b.queue", value)


def test_a_table_in_a_setting_that_is_not_toml_says_so() -> None:
    with pytest.raises(ValueError, match=r"this is not TOML.*text in a table needs quotes"):
        parse_setting("links.b.delay={forward=10ms}")


CASES = """
[[cases]]
name = "far"
set = { "links.bottleneck.delay" = "90ms" }
[[cases]]
name = "reno"
set = { "flows.bulk.cc" = "reno" }
"""


@pytest.mark.parametrize(
    "setting",
    ["links.bottleneck.delay=3ms", 'sweep.links.bottleneck.delay=["3ms"]', "links.bottleneck.delay.reverse=3ms"],
)
def test_what_one_case_sets_may_be_set_or_swept_with_another(setting: str) -> None:
    scenario = parse_scenario(DUMBBELL + CASES, settings=[setting])
    (run,) = make_plan(scenario, cases=["reno"])
    assert run.scenario.links["bottleneck"].delay.reverse == 3 * 10**6
    swept = setting.startswith("sweep.")
    for cases in (["far"], ["reno", "far"], *([] if swept else [None])):
        with pytest.raises(ScenarioError) as refusal:
            make_plan(scenario, cases=cases)
        option = f"--sweep {setting[6:]}" if setting.startswith("sweep.") else f"--set {setting}"
        instead = "choose others with --case, or copy the scenario with `netwarp new NAME --from` and edit it"
        if setting == "links.bottleneck.delay=3ms":
            instead = f"replace that with --set 'cases.{setting}', {instead}"
        assert str(refusal.value) == f'command line: {option}: the case "far" sets this as well; {instead}'


def test_a_setting_replaces_what_cases_set() -> None:
    """A study with another control, without a copied file."""
    presets = '[presets.slow]\n"flows.bulk.cc" = "vegas"\n[[cases]]\nname = "slow"\nuse = ["slow"]\n'
    presets += 'set = { duration = "3s" }\n'
    plan = make_plan(parse_scenario(DUMBBELL + CASES + presets, settings=["cases.flows.bulk.cc=bbr"]))
    assert {run.case: run.scenario.flows["bulk"].model_dump()["cc"] for run in plan} == {
        "far": "cubic",
        "reno": "bbr",
        "slow": "bbr",
    }


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("cases.duration=3s", "no case sets duration; without `cases.` this sets it for all"),
        ("cases.flows.bulk.ccc=bbr", 'did you mean "cc"?'),
        ("cases.flows.bulk.cc=9", "--set cases.flows.bulk.cc=9"),
    ],
)
def test_what_cannot_replace_what_cases_set_is_said_of_the_option(setting: str, words: str) -> None:
    with pytest.raises(ScenarioError) as refusal:
        make_plan(parse_scenario(DUMBBELL + CASES, settings=[setting]))
    assert words in str(refusal.value)
    assert "Traceback" not in str(refusal.value)


def test_swept_values_take_the_place_of_those_that_cases_set() -> None:
    """A study of one thing at a time, with other values for one of them."""
    text = DUMBBELL + CASES + '[[cases]]\nname = "farther"\nset = { "links.bottleneck.delay" = "200ms" }\n'
    plan = make_plan(parse_scenario(text, settings=['sweep.links.bottleneck.delay=["3ms", "5ms"]']))
    delays = {run.case: run.scenario.links["bottleneck"].delay.forward for run in plan}
    own = {"links.bottleneck.delay = 3ms": 3 * 10**6, "links.bottleneck.delay = 5ms": 5 * 10**6}
    assert delays == {**own, "reno": 10**7}
    assert plan.axes == ()
    reno = next(run for run in plan if run.case == "reno")
    assert reno.scenario.flows["bulk"].model_dump()["cc"] == "reno"


def test_swept_values_with_cases_that_set_more_are_refused_and_bad_ones_said_of_the_option() -> None:
    more = '[[cases]]\nname = "both"\nset = { "links.bottleneck.delay" = "1s", "flows.bulk.cc" = "bbr" }\n'
    with pytest.raises(ScenarioError, match='the cases "far", "both" set this as well'):
        make_plan(parse_scenario(DUMBBELL + CASES + more, settings=['sweep.links.bottleneck.delay=["3ms"]']))
    with pytest.raises(ScenarioError) as refusal:
        make_plan(parse_scenario(DUMBBELL + CASES, settings=['sweep.links.bottleneck.delay=["3"]']))
    assert str(refusal.value).startswith("command line: --sweep links.bottleneck.delay")


@pytest.mark.parametrize(
    "setting", ['tuners.ecn.sysctl={"net.ipv4.tcp_ecn"=1}', 'tuners.ecn={sysctl={"net.ipv4.tcp_ecn"=1}}']
)
@pytest.mark.parametrize("use", ["run.tuner=ecn", 'sweep.run.tuner=["ecn"]'])
def test_a_setting_may_add_a_tuner(setting: str, use: str) -> None:
    (run,) = make_plan(parse_scenario(DUMBBELL, settings=[setting, use]))
    assert run.scenario.tuner is not None
    assert run.scenario.tuner.sysctl == {"net.ipv4.tcp_ecn": "1"}


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (["flows.bulk.start=20s"], "--set flows.bulk.start=20s: starts at 20s, when the run of 10s is over"),
        (['sweep.links.access.delay=["1ms", "2"]'], '--sweep links.access.delay=["1ms", "2"]: "2" has no unit'),
        (['tuners.e.sysctl={"ecn"=1}', "run.tuner=e"], '--set tuners.e.sysctl={"ecn"=1}: "ecn" is not a sysctl'),
        (["warmup=10s"], "--set warmup=10s: the warm-up (10s) leaves nothing"),
    ],
)
def test_what_the_command_line_got_wrong_is_said_of_it_and_not_of_the_file(settings: list[str], expected: str) -> None:
    with pytest.raises(ScenarioError) as refusal:
        make_plan(parse_scenario(DUMBBELL, "lab.toml", settings))
    assert str(refusal.value).startswith(f"command line: {expected}")
    assert "lab.toml" not in str(refusal.value)


def test_a_file_that_a_setting_spoils_is_said_to_be_valid_by_itself() -> None:
    late = DUMBBELL + 'start = "5s"\n'
    with pytest.raises(ScenarioError) as refusal:
        parse_scenario(late, "lab.toml", ["duration=4s"])
    place, cause = str(refusal.value).splitlines()
    assert place.startswith("lab.toml:19: flows.bulk.start: starts at 5s")
    assert cause == "command line: the file is valid by itself; the problem comes from --set duration=4s"
    with pytest.raises(ScenarioError) as refusal:
        parse_scenario(late.replace('"5s"', '"50s"'), "lab.toml", ["duration=4s"])
    assert "by itself" not in str(refusal.value)


@pytest.mark.parametrize("value", ["5", '"x"', "[1]", "[[1]]", "{ a = 1 }", "[{ set = 5 }]", '{ "run.tuner" = 5 }'])
@pytest.mark.parametrize("section", ["sweep", "cases", "run", "tuners", "presets"])
@pytest.mark.parametrize(
    "setting",
    [
        *('tuners.a.queue="pfifo"', "run.tuner=a", 'sweep.run.tuner=["a"]'),
        *("cases.0.name=x", 'sweep.flows.bulk.cc=["reno"]'),
    ],
)
def test_a_section_of_another_type_is_refused_whatever_is_set(section: str, value: str, setting: str) -> None:
    """The error is netwarp's, not Python's."""
    text = f'name = "x"\n{section} = {value}\n' + DUMBBELL.replace('name = "lab"', "")
    with pytest.raises(ScenarioError) as refusal:
        make_plan(parse_scenario(text, settings=[setting]))
    assert "invalid literal" not in str(refusal.value)


@pytest.mark.parametrize(
    "name",
    ["", " ", "a\nb", "ok\n✓ flow.goodput_mbps of bulk", "=1+1", "+1", "-1", "@SUM(A1)", "a\tb", "\x1b[2J", "x" * 101],
)
def test_the_name_of_a_case_can_forge_nothing(name: str) -> None:
    """Neither a line of a verdict, nor a spreadsheet's formula, nor a terminal's escape sequence."""
    with pytest.raises(ScenarioError, match="is not a label; a label is one line of 1 to 100 printable characters"):
        parse_scenario(f"{DUMBBELL}[[cases]]\nname = {json.dumps(name)}\n")


@pytest.mark.parametrize(
    "name", ["ten flows", "10\u00a0ms", "50 ms, RED (ECN)", "ä ü 試", "1 %", "'quoted'", "[bold]case[/]"]
)
def test_the_name_of_a_case_may_have_words(name: str) -> None:
    assert parse_scenario(f"{DUMBBELL}[[cases]]\nname = {json.dumps(name)}\n").cases[0].name == name


def test_no_name_looks_like_an_option() -> None:
    with pytest.raises(ScenarioError, match='"-h1" is not a name; names are 1 to 64 letters'):
        parse_scenario(DUMBBELL.replace("h1", "-h1"))


def test_an_expectation_can_name_the_tuner_that_no_sweep_varies() -> None:
    """It is about the tuner in use; with another one it is about none of the runs."""
    for set_to, condition in (((), None), (("run.tuner=small-buffers",), "default")):
        expected = load_scenario("tcp-vs-udp", set_to).expectations
        alone = [one.where for one in expected if one.where.get("case") == "TCP alone"]
        assert [where.get("run.tuner") for where in alone] == [condition, condition]
