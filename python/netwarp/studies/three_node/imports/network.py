"""The network of the scripts, client – bottleneck – server, as far as their files describe it.

The files lack rates, delays and queues, so a run's lab has none. A scenario needs a rate, and states that it is made
up.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from netwarp.flows import iperf3 as iperf3_flows
from netwarp.studies.three_node.imports.iperf3 import Iperf3Test
from netwarp.values.json_values import Json

VIEW = "three-node"
_FIRST_INDEX = 11
_LINKS = {"near": ("client", "bottleneck"), "far": ("bottleneck", "server")}
PLACES = {
    "client": ("near", "client"),
    "bottleneck": ("far", "bottleneck"),
    "server": ("far", "server"),
}
"""The link and node at which each machine was observed; the bottleneck on its side toward the server."""

_SECOND = 10**9


@dataclass(frozen=True)
class Timed:
    """A test and its start in the run's clock."""

    test: Iperf3Test
    start_ns: int

    @property
    def end_ns(self) -> int:
        """The time at which its receiver stopped counting."""
        return self.start_ns + round(self.test.seconds * _SECOND)


def index_of(role: str) -> int:
    """The number of the interface at which a machine was observed."""
    link, node = PLACES[role]
    return _FIRST_INDEX + 2 * list(_LINKS).index(link) + _LINKS[link].index(node)


def lab_of(
    tests: Mapping[str, Timed], interfaces: Mapping[str, str], captures: Sequence[str], repetition: int
) -> dict[str, Json]:
    """The lab of a run (ARCHITECTURE.md) without unknown parts; `captures` are the roles that have one."""
    ends_ns = [timed.end_ns for timed in tests.values()]
    numbers = range(_FIRST_INDEX, _FIRST_INDEX + 2 * len(_LINKS))
    names = {index_of(role): name for role, name in interfaces.items()}
    addresses = {index_of(role): address for role, address in _addresses(tests).items()}
    indices = iter(numbers)
    links: list[Json] = [
        {"name": link, "ends": [_end(node, next(indices), names, addresses) for node in nodes]}
        for link, nodes in _LINKS.items()
    ]
    return {
        "format": 1,
        "seed": repetition,
        "t0_ns": 0,
        "duration_ns": max(ends_ns, default=0),
        "nodes": [{"name": role, "forward": role == "bottleneck", "sysctl": {}} for role in PLACES],
        "links": links,
        "routes": [],
        "flows": [_flow(number, name, tests[name]) for number, name in enumerate(tests)],
        "changes": [],
        "record": {
            "exact": False,
            "sample_ns": _SECOND,
            "captures": [
                {"link": PLACES[role][0], "node": PLACES[role][1], "index": index_of(role)} for role in captures
            ],
        },
    }


def _addresses(tests: Mapping[str, Timed]) -> dict[str, str]:
    first = next(iter(tests.values()), None)
    return {"client": first.test.client, "server": first.test.server} if first else {}


def _end(node: str, index: int, names: Mapping[int, str], addresses: Mapping[int, str]) -> dict[str, Json]:
    known = [addresses[index]] if addresses.get(index) else []
    return {"node": node, "interface": names.get(index, ""), "index": index, "addresses": known}


def _flow(number: int, name: str, timed: Timed) -> dict[str, Json]:
    test = timed.test
    return {
        "id": number,
        "name": name,
        "group": name,
        "tool": iperf3_flows.KIND.tool,
        "from": "client",
        "to": "server",
        "source": test.client,
        "destination": test.server,
        "source_port": 0,
        "source_ports": list(test.ports),
        "destination_port": test.server_port,
        "start_ns": timed.start_ns,
        "duration_ns": timed.end_ns - timed.start_ns,
        "protocol": test.protocol,
        "cc": test.congestion_control,
        "args": arguments(test),
    }


def arguments(test: Iperf3Test) -> list[str]:
    """The options of iperf3 beyond protocol and duration."""
    return ["-P", str(test.streams), *(["-R"] if test.reverse else [])]


def scenario_toml(
    name: str, origin: str, scenarios: Mapping[str, Mapping[str, Timed]], repetitions: Sequence[int]
) -> str:
    """A scenario that describes the result: its cases are the scripts' scenarios, its seeds the repetitions."""
    tests = [timed for case in scenarios.values() for timed in case.values()]
    duration = max((timed.end_ns for timed in tests), default=_SECOND)
    runs = f"{len(scenarios)} scenarios, up to {len(repetitions)} repetitions"
    lines = [
        f"# Imported by netwarp from {json.dumps(origin)}: measurements of other scripts, with iperf3, ss, ifstat and",
        "# tcpdump. This file describes their known parts: the files contain no rates, delays or queues, and the",
        '# "1gbit" below is in place of an unknown rate. The measurements are in runs/.',
        f"name = {json.dumps(name)}",
        f'summary = "Imported measurements: {runs}"',
        f'duration = "{-(-duration // 10**6)}ms"',
        f"seeds = {list(repetitions)}",
        f'views = ["{VIEW}"]',
        "",
        "[nodes]",
        *(f"{role} = {{ forward = true }}" if role == "bottleneck" else f"{role} = {{}}" for role in PLACES),
    ]
    for link, (one, other) in _LINKS.items():
        lines += ["", f"[links.{link}]", f'ends = ["{one}", "{other}"]', 'rate = "1gbit"  # not known']
    for flow in ("tcp", "udp"):
        lines += _flow_toml(flow, [case[flow] for case in scenarios.values() if flow in case])
    for case, flows in scenarios.items():
        lines += ["", "[[cases]]", f"name = {json.dumps(case, ensure_ascii=False)}", "[cases.set]"]
        lines += [f'"flows.{flow}.args" = {json.dumps(arguments(timed.test))}' for flow, timed in flows.items()]
        lines += [
            f'"flows.{flow}.cc" = "{timed.test.congestion_control}"'
            for flow, timed in flows.items()
            if timed.test.congestion_control
        ]
    return "\n".join(lines) + "\n"


def _flow_toml(name: str, found: Sequence[Timed]) -> list[str]:
    """A flow's table, if any run has the flow, with its times in the first run."""
    if not found:
        return []
    first = found[0]
    head = ["", f"[flows.{name}]", 'from = "client"', 'to = "server"', 'tool = "iperf3"', f'protocol = "{name}"']
    times = [f'start = "{first.start_ns // 10**6}ms"', f'duration = "{round(first.test.seconds * 1e3)}ms"']
    return [*head, *times, 'rate = "unlimited"  # not known'] if name == "udp" else [*head, *times]
