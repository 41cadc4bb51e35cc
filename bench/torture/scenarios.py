"""Damaged scenarios, and well-formed ones with values at every boundary, which then run."""

from __future__ import annotations

import json
import random
from typing import Any

from mutate import TOML_VALUES, mutate_toml

from bench.torture.cases import Case
from bench.torture.commands import Limits
from bench.torture.judge import HANG, WRONG

TIME_LIMIT_S = 6
_LIMITS = Limits(seconds=60.0, wall_s=300.0)
"""Limits of a command with one run, which its own limit ends: netwarp's work comes before and after it."""
_REAL_S = TIME_LIMIT_S + 10.0 + 10.0

_RATES = ("1bit", "8bit", "1kbit", "9.6kbit", "1mbit", "100mbit", "10gbit", "10tbit", "0bit", "-1mbit", "1mbps", "")
_TIMES = ("0s", "1ns", "1us", "1ms", "999ms", "1s", "100s", "30d", "366d", "-1s", "1e3s", "0.5ns", "١s")
_SHARES = ("0%", "0.0000001%", "1%", "50%", "99.999%", "100%", "101%", "-1%", "20% 50%", "gemodel 1% 10%")
_SIZES = (0, 1, 15, 16, 28, 536, 1472, 1473, 65507, 65508, 10**6, 10**15, "1B", "1GB", "exponential 600", "30kB pareto")
_QUEUES = (
    *("pfifo limit 0", "pfifo limit 1", "pfifo limit 4294967295", "pfifo limit 4294967296", "pfifo limit -1", "pfifo"),
    *("bfifo limit 1", "bfifo limit 1514", "fq_codel limit 1", "fq_codel flows 65537", "fq_codel target 0ms", "fq"),
    *("codel target 1us interval 1us", "cake", "cake bandwidth 1kbit", "pie", "sfq", "sfb", "hhf", "choke limit 10"),
    *("red limit 1000 min 1 max 2 avpkt 1000", "red limit 400000 min 30000 max 90000 avpkt 1000 ecn probability 1"),
    *("netem delay 100s", "netem loss 100%", "netem limit 0", "tbf rate 1kbit burst 1 limit 1", "htb", "prio", "drr"),
    *("mq", "noqueue", "ingress", "clsact", "nosuch limit 3", "pfifo limit 10; reboot", "pfifo $(id)", "", "-batch x"),
    *("multiq", "teql0", "etf", "taprio", "plug", "blackhole", "gred setup DPs 4 default 0", "qfq", "hfsc", "dualpi2"),
)
_NUMBERS = (0, 1, -1, 2, 67, 68, 576, 1280, 1279, 1500, 9000, 65535, 65536, 1000, 1001, 2**31, 2**63, 0.5, True, "1")
_NAMES = ("h1", "r1", "h2", "h3", "", "H1", "ünï", "a" * 65, "wire", "h1 ", "lo", "..", "bulk", "\u202e", "h1\n")
_CONTROLS = ("cubic", "reno", "bbr", "vegas", "dctcp", "westwood", "cdg", "nv", "lp", "nosuch", "CUBIC", "", "a b")
_TOOLS = ("bulk", "cbr", "poisson", "on_off", "request", "iperf3", "ping", "command", "", "curl")
_SYSCTLS = (
    *({"net.ipv4.tcp_rmem": "1 1 1"}, {"net.ipv4.tcp_wmem": "4096 4096 4096"}, {"net.ipv4.ip_forward": 0}),
    *({"net.ipv4.tcp_ecn": 1}, {"net.ipv4.tcp_mem": "0 0 0"}, {"net.ipv4.nosuch": 1}, {"net.ipv4.tcp_sack": 0}),
    *({"net.ipv4.tcp_syn_retries": 1}, {"net.ipv4.conf.all.rp_filter": 1}, {"kernel.panic": 1}, {"net/x": "\n"}),
    *(
        {"net.ipv4.udp_mem": "0 0 0"},
        {"net.core.rmem_max": 1},
        {"vm.overcommit_memory": 2},
        {"net.ipv4.ip_default_ttl": 1},
    ),
)
_ADDRESSES = (
    [["10.0.0.1/24"], ["10.0.0.1/24"]],
    [["10.0.0.1/32"], ["10.9.9.9/32"]],
    [["127.0.0.1/8"], ["127.0.0.2/8"]],
    [["224.0.0.1/24"], ["0.0.0.0/0"]],
    [["fe80::1/64"], ["fd00::1/128"]],
    [["10.0.0.255/24"], ["10.0.0.0/24"]],
)

_CASES: tuple[list[Any], ...] = (
    [{"name": "[/]"}],
    [{"name": "a"}, {"name": "a"}],
    [{"name": "a", "set": {"nosuch.x": 1}}],
    [{}],
)

BOUNDARIES: dict[str, tuple[Any, ...]] = {
    "name": ("x", "", "a/b", "..", "ünï", "x" * 64, "x" * 65, "[/]", "\u001b[31m"),
    "summary": ("", "\u001b[2J", "[/]", "x" * 10_000, "\n"),
    "duration": _TIMES,
    "warmup": _TIMES,
    "seeds": (0, 1, 2, [0], [2**63 - 1], [2**63], [1, 1], [], -1, 10**9, "1"),
    "run.start_jitter": _TIMES,
    "run.memory": ("64M", "63M", "100M", "150M", "64G", "65G", "1", "auto", 0),
    "record.exact": (True, False, 1, "yes"),
    "record.sample": _TIMES,
    "record.captures": (
        [{"at": "bottleneck:r1", "snap": 0}],
        [{"at": "bottleneck:r1", "filter": "tcp["}],
        [{"at": "bottleneck:r1", "filter": "icmp"}, {"at": "bottleneck:r1"}],
        [{"at": "nosuch:r1"}],
        [{"at": "access:h1", "snap": 262144}],
    ),
    "nodes.r1.forward": (False, "yes"),
    "nodes.h1.sysctl": _SYSCTLS,
    "nodes.lo": ({},),
    "nodes.wire": ({},),
    "nodes.ünï": ({},),
    "nodes.lonely": ({}, {"forward": True}),
    "links.bottleneck.ends": (["r1", "r1"], ["h2", "r1"], ["r1"], [], ["r1", "h2", "h1"], ["h1", "h2"], ["r1", "h3"]),
    "links.bottleneck.rate": (*_RATES, {"forward": "1mbit", "reverse": "1bit"}, {"reverse": "10tbit"}, {}),
    "links.access.rate": _RATES,
    "links.bottleneck.delay": (*_TIMES, {"forward": "100s"}),
    "links.bottleneck.jitter": (*_TIMES, "1s normal", "10ms pareto", "5ms nosuch", "10ms 25% paretonormal"),
    "links.bottleneck.loss": _SHARES,
    "links.bottleneck.duplicate": _SHARES,
    "links.bottleneck.corrupt": _SHARES,
    "links.bottleneck.reorder": _SHARES,
    "links.bottleneck.queue": (*_QUEUES, {"forward": "pfifo limit 1", "reverse": "fq_codel"}),
    "links.access.queue": _QUEUES,
    "links.bottleneck.mtu": _NUMBERS,
    "links.access.mtu": _NUMBERS,
    "links.bottleneck.offload": (True,),
    "links.bottleneck.interfaces": (["eth0", "eth0"], ["lo", "x"], ["a" * 16, "b"], ["eth/0", "b"], ["a"]),
    "links.bottleneck.addresses": _ADDRESSES,
    "links.access.addresses": _ADDRESSES,
    "links.bottleneck.raw": ({"r1": ["qdisc add dev x root pfifo"]}, {"r1": ["nosuch"]}, {"h1": [""]}, {"h3": ["x"]}),
    "links.bottleneck.trace": ("/dev/zero", "/dev/null", "nosuch.csv", "/etc/passwd", "/proc/self/mem", "."),
    "links.second": (
        {"ends": ["h1", "h2"], "rate": "1mbit"},
        {"ends": ["r1", "h2"], "rate": "1mbit"},
        {"ends": ["h1", "h1"], "rate": "1mbit"},
    ),
    "flows.bulk.from": _NAMES,
    "flows.bulk.to": _NAMES,
    "flows.bulk.tool": _TOOLS,
    "flows.bulk.cc": _CONTROLS,
    "flows.bulk.count": (0, 1, 2, 10, 300, 1000, 1001, -1, 0.5, True),
    "flows.bulk.start": _TIMES,
    "flows.bulk.duration": _TIMES,
    "flows.bulk.bytes": _SIZES,
    "flows.bulk.connect_ahead": _TIMES,
    "flows.bulk.family": ("ipv4", "ipv6", "ipv5", 4),
    "flows.cbr.rate": _RATES,
    "flows.cbr.packet_size": _SIZES,
    "flows.cbr.count": (0, 1, 50, 1000),
    "flows.cbr.tool": ("poisson", "ping", "bulk"),
    "flows.reply.response_size": _SIZES,
    "flows.reply.request_size": _SIZES,
    "flows.reply.think": (*_TIMES, "1ns exponential", "100s pareto"),
    "flows.ping.interval": _TIMES,
    "flows.ping.size": _SIZES,
    "flows.ping.from": ("h2", "r1", "h1"),
    "flows.own": (
        {"from": "h1", "to": "h2", "tool": "command", "client": ["false"]},
        {"from": "h1", "to": "h2", "tool": "command", "client": ["true"]},
        {"from": "h1", "to": "h2", "tool": "command", "client": ["nosuch-program"]},
        {"from": "h1", "to": "h2", "tool": "command", "client": ["sh", "-c", "while :; do i=$((i+1)); done"]},
        {"from": "h1", "to": "h2", "tool": "command", "client": ["sh", "-c", ":(){ :|:& };:"]},
        {"from": "h1", "to": "h2", "tool": "command", "client": ["sh", "-c", "kill -9 -1"]},
        {"from": "h1", "to": "h2", "tool": "command", "client": ["sh", "-c", "kill -SEGV $$"]},
        {"from": "h1", "to": "h2", "tool": "command", "client": ["head", "-c", "100000000", "/dev/zero"]},
        {"from": "h1", "to": "h2", "tool": "command", "client": ["sh", "-c", "echo o > /proc/sysrq-trigger"]},
        {"from": "h1", "to": "h2", "tool": "command", "client": ["ip", "link", "del", "bottleneck"]},
        {"from": "r1", "to": "h2", "tool": "command", "client": ["tc", "qdisc", "del", "dev", "eth1", "root"]},
        {"from": "h1", "to": "h2", "tool": "command", "client": ["sh", "-c", "yes | head -c 30000000"]},
        {"from": "h1", "to": "h2", "tool": "command", "client": ["sleep", "1000000000"], "server": ["sleep", "inf"]},
        {"from": "h1", "to": "h2", "tool": "command", "client": ["true"], "server": ["false"], "ready": "port 80"},
        {"from": "h1", "to": "h2", "tool": "iperf3", "args": ["-P", "128"]},
        {"from": "h1", "to": "h2", "tool": "iperf3", "args": ["--nosuch"]},
        {"from": "h1", "to": "h2", "tool": "iperf3", "protocol": "udp", "rate": "unlimited"},
        {"from": "h1", "to": "h1", "tool": "bulk"},
    ),
    "changes": (
        [{"at": "500ms", "link": "bottleneck", "rate": "1bit"}],
        [{"at": "0s", "link": "bottleneck", "rate": "10gbit"}],
        [{"at": "500ms", "link": "bottleneck", "queue": "pfifo limit 1"}],
        [{"at": "500ms", "link": "bottleneck", "outage": "100s"}],
        [{"at": "1ns", "link": "bottleneck", "outage": "1ns", "repeat": "2ns"}],
        [{"at": "100ms", "link": "bottleneck", "rate": "5mbit", "over": "500ms", "step": "1ns"}],
        [{"at": "100ms", "link": "bottleneck", "delay": "1s", "over": "500ms", "step": "1ms"}],
        [{"at": "100ms", "link": "nosuch", "rate": "5mbit"}],
        [{"at": "100s", "link": "bottleneck", "rate": "5mbit"}],
        [{"at": "100ms", "link": "bottleneck", "loss": "100%"}] * 50,
    ),
    "sweep": (
        {"seeds": [1]},
        {"links.bottleneck.rate": []},
        {"links.bottleneck.rate": ["1mbit", "1mbit"]},
        {"links.nosuch.rate": ["1mbit"]},
        {"flows.bulk.cc": ["cubic", "nosuch"]},
        {".".join("a" * 3000): [1]},
    ),
    "cases": (
        *([{"name": name}] for name in ("ok\n✓ flow.goodput_mbps of bulk", "=1+1", "-1", "@x", "a\tb", "\u202e")),
        *_CASES,
    ),
    "expect": (
        [{"metric": "flow.goodput_mbps", "min": 1e308}],
        [{"metric": "nosuch.metric", "min": 0}],
        [{"metric": "flow.goodput_mbps", "min": 2, "max": 1}],
        [{"metric": "flow.goodput_mbps", "equals": 0, "within": "0%"}],
    ),
    "tuners": ({"a": {"queue": "nosuch"}}, {"default": {"sysctl": {"net.ipv4.tcp_ecn": 1}}}, {"a": {"nodes": ["zz"]}}),
    "views": (["nosuch"], ["queueing_theory"], [""]),
}
"""Place of a value → values at its boundaries, and beyond them."""


def plain() -> dict[str, Any]:
    """A valid scenario: three nodes, four flows, a second."""
    ends = {"from": "h1", "to": "h2"}
    return {
        "name": "boundary",
        "duration": "1s",
        "run": {"time_limit": f"{TIME_LIMIT_S}s"},
        "record": {},
        "nodes": {"h1": {}, "r1": {"forward": True}, "h2": {}},
        "links": {
            "access": {"ends": ["h1", "r1"], "rate": "100mbit"},
            "bottleneck": {"ends": ["r1", "h2"], "rate": "2mbit", "delay": "10ms", "queue": "pfifo limit 20"},
        },
        "flows": {
            "bulk": ends | {"tool": "bulk"},
            "cbr": ends | {"tool": "cbr", "rate": "100kbit"},
            "reply": ends | {"tool": "request", "response_size": "10kB"},
            "ping": ends | {"tool": "ping"},
        },
    }


class Scenarios:
    """Damaged text, odd settings, and values at boundaries that run in the kernel."""

    name = "scenarios"
    unit = "scenarios"
    share = 0.19

    def attack(self, case: Case) -> None:
        """Make a scenario and show or run it."""
        kinds = {"damaged": _damaged, "settings": _settings, "retyped": _retyped, "boundaries": _boundaries}
        target = case.rng.choices(list(kinds), (5, 2, 1, 2))[0]
        case.report.target = target
        kinds[target](case)


def _damaged(case: Case) -> None:
    source = case.rng.choice(case.bases.scenarios)
    file = case.place.work / "scenario.toml"
    file.write_bytes(mutate_toml(source.read_bytes(), case.rng))
    case.note(source.name)
    case.netwarp("show", file)


_SECTIONS = ("run", "record", "nodes", "links", "flows", "changes", "sweep", "cases", "presets", "tuners", "expect")
_INTO_SECTIONS = (
    *(
        'tuners.a.queue="pfifo"',
        "tuners.a={}",
        "run.tuner=a",
        'sweep.run.tuner=["a"]',
        "cases.0.name=x",
        "presets.a.b=1",
    ),
    *(
        'flows.bulk.cc="reno"',
        "links.access.delay=1ms",
        'sweep.flows.bulk.cc=["reno"]',
        "expect.0.min=1",
        "nodes.h1={}",
    ),
)


def _retyped(case: Case) -> None:
    """A scenario whose sections have other types, and settings that lead into them."""
    data = plain()
    for section in case.rng.sample(_SECTIONS, case.rng.choice((1, 1, 2, 3))):
        data[section] = case.rng.choice((5, "x", True, [], [1], [[1]], {}, {"a": 1}, [{"set": 5}], {"run.tuner": 5}))
        case.note(f"{section} = {data[section]!r}")
    file = case.place.work / "scenario.toml"
    file.write_text("".join(f"{key} = {_toml(value)}\n" for key, value in data.items()))
    settings = case.rng.sample(_INTO_SECTIONS, case.rng.choice((1, 1, 2)))
    case.netwarp("show", file, *(word for setting in settings for word in ("--set", setting)))


def _settings(case: Case) -> None:
    """A shipped scenario with mistyped, or generated, values after --set."""
    source = case.rng.choice(case.bases.scenarios)
    settings = []
    for _ in range(case.rng.choice((1, 1, 2, 3))):
        path = case.rng.choice([*BOUNDARIES, "run.time_limit", "sweep.seeds", "flows", "x" * 3000, "a..b", '"', "="])
        values = [*BOUNDARIES.get(path, ()), *TOML_VALUES]
        value = case.rng.choice(values)
        settings += ["--set", f"{path}={value if isinstance(value, str) else _toml(value)}"]
    case.note(source.name)
    case.netwarp("show", source, *[word.replace("\0", "") for word in settings])


def _boundaries(case: Case) -> None:
    data = plain()
    for path in case.rng.sample(list(BOUNDARIES), case.rng.choice((1, 1, 2, 3, 5))):
        value = case.rng.choice(BOUNDARIES[path])
        case.note(f"{path} = {value!r:.200}")
        _put(data, path, value)
    if case.rng.random() < 0.1:
        _exchange(data, case.rng)
        case.note("two values exchanged")
    file, result = case.place.work / "scenario.toml", case.place.work / "result"
    file.write_text("".join(f"{key} = {_toml(value)}\n" for key, value in data.items()), errors="replace")
    ended = case.netwarp("run", file, "--no-plots", "-j", "1", "-o", result, outputs=[result], limits=_LIMITS)
    if result.exists() and ended.status in (0, 1, 3):
        _judge_runs(case)


def _judge_runs(case: Case) -> None:
    """Check that every run has ended in time, with a reason if it is not ok."""
    result = case.place.work / "result"
    for run in json.loads((result / "plan.json").read_text())["runs"]:
        file = result / "runs" / run["id"] / "status.json"
        if not file.is_file():
            case.fail(WRONG, f"run {run['id']} has no status")
            continue
        status = json.loads(file.read_text())
        if status["status"] not in ("ok", "suspect", "failed"):
            case.fail(WRONG, f"run {run['id']} is {status['status']}")
        if status["status"] != "ok" and not status.get("reason"):
            case.fail(WRONG, f"run {run['id']} is {status['status']} without a reason")
        if (cpu_s := status.get("cpu_s") or 0.0) > _REAL_S:
            case.fail(HANG, f"run {run['id']} took {cpu_s:.1f} s of CPU time, beyond its limit of {TIME_LIMIT_S} s")


def _put(data: dict[str, Any], path: str, value: Any) -> None:
    *tables, last = path.split(".")
    for name in tables:
        data = data.setdefault(name, {})
    data[last] = value


def _exchange(data: Any, rng: random.Random) -> None:
    """Exchange two values."""
    places = [(holder, key) for holder in _tables(data) for key in holder]
    (one, first), (other, second) = rng.sample(places, 2)
    if isinstance(one[first], dict) or isinstance(other[second], dict):
        return  # one could then contain itself
    one[first], other[second] = other[second], one[first]


def _tables(data: Any) -> list[dict[str, Any]]:
    inner = [table for value in data.values() if isinstance(value, dict) for table in _tables(value)]
    return [data, *inner]


def _toml(value: Any) -> str:
    """Format a value in TOML, with inline tables."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {_toml(inner)}" for key, inner in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value)
