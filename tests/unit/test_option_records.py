"""Options of flows: what sockets and routes get, and which engines can have them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from netwarp.engines.host.needs import own_routes
from netwarp.flows import KINDS
from netwarp.flows.options import OPTIONS
from netwarp.lab import build_lab
from netwarp.lab_format.model import Lab
from netwarp.plan import make_plan
from netwarp.scenario import ScenarioError, parse_scenario

TEXT = """\
name = "t"
duration = "1s"
[nodes]
h1 = {}
r1 = { forward = true }
h2 = {}
[links.a]
ends = ["h1", "r1"]
rate = "1gbit"
[links.b]
ends = ["r1", "h2"]
rate = "1gbit"
"""


def flow(name: str, tool: str, *lines: str, to: str = "h2") -> str:
    """A flow from h1."""
    return "\n".join([f"[flows.{name}]", 'from = "h1"', f'to = "{to}"', f'tool = "{tool}"', *lines, ""])


def lab(*flows: str) -> Lab:
    """The lab with these flows."""
    return build_lab(make_plan(parse_scenario(TEXT + "".join(flows))).runs[0])


def given(found: Lab) -> list[tuple[str, int]]:
    """The options of the first flow's sockets, in order."""
    return [(option.name, option.value) for option in found.flows[0].sockets]


@pytest.mark.parametrize(
    ("lines", "wanted"),
    [
        (['dscp = "EF"'], [("IP_TOS", 184)]),
        (['dscp = "af41"', 'family = "ipv6"'], [("IPV6_TCLASS", 136)]),
        (["dscp = 46", "priority = 2"], [("IP_TOS", 184), ("SO_PRIORITY", 2)]),
        (['priority = "1:10"'], [("SO_PRIORITY", 0x10010)]),
        (['pacing_rate = "8mbit"'], [("SO_MAX_PACING_RATE", 1_000_000)]),
        (["ecn = true"], []),
        (["ecn = false", "delayed_acks = true"], []),
        (['setsockopt = ["6 16 1", "1 9 -1"]'], [("option 16 of level 6", 1), ("option 9 of level 1", -1)]),
    ],
)
def test_what_sockets_are_given(lines: list[str], wanted: list[tuple[str, int]]) -> None:
    assert given(lab(flow("f", "bulk", *lines))) == wanted


def test_class_and_ecn_of_datagrams_are_one_octet() -> None:
    found = lab(flow("f", "cbr", 'rate = "1mbit"', 'dscp = "EF"', "ecn = true"))
    assert given(found) == [("IP_TOS", 46 << 2 | 2)]
    assert found.flow_routes == ()


def test_a_group_has_a_route_at_each_end() -> None:
    lines = ("count = 3", "initial_window = 20", "ecn = true", "delayed_acks = false")
    found = lab(flow("other", "bulk"), flow("f", "bulk", *lines), flow("near", "bulk", "ecn = true", to="r1"))
    there, back, near, _ = found.flow_routes
    assert (there.node, there.to, there.via, there.interface) == ("h1", "10.0.1.2", "10.0.0.2", "eth0")
    assert (there.first_port, there.last_port, there.is_source) == (5002, 5004, True)
    assert (back.node, back.to, back.via, back.is_source) == ("h2", "10.0.0.1", "10.0.1.1", False)
    assert [metric.words for metric in there.metrics] == ["features ecn", "initcwnd 20", "quickack 1"]
    assert (near.to, near.via) == ("10.0.0.2", None)
    assert len({route.table for route in found.flow_routes}) == 4


@pytest.mark.parametrize(
    ("tool", "line", "is_refused"),
    [
        ("bulk", "ecn = true", True),
        ("bulk", "initial_window = 4", True),
        ("bulk", "delayed_acks = false", True),
        ("bulk", "mss = 536", False),
        ("ping", "dscp = 1", False),
    ],
)
def test_machines_of_others_get_no_rules(tool: str, line: str, is_refused: bool) -> None:
    plan = make_plan(parse_scenario(TEXT + flow("f", tool, line)))
    found = [keys for key, section in plan.sections for keys, _ in own_routes(key, section)]
    assert found == ([("flows", "f", line.split(maxsplit=1)[0])] if is_refused else [])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('dscp = "EFF"', 'did you mean "EF"?'),
        ('pacing_rate = "1kbit"', "must be from 8kbit to 34gbit"),
        ('send_buffer = "2GB"', "must be from 2304B to 1GB"),
        ('setsockopt = ["6 16"]', 'is not "LEVEL OPTION VALUE"'),
        ('setsockopt = ["6 16 99999999999"]', 'is not "LEVEL OPTION VALUE"'),
        ('setsockopt = ["6 16 9999999999"]', "does not fit 32 bits"),
        ("mss = 80", "must be at least 88"),
    ],
)
def test_other_values_are_refused(line: str, message: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        parse_scenario(TEXT + flow("f", "bulk", line))
    assert message in refused.value.problems[0].message


PAGE = (Path(__file__).parents[2] / "docs/flow-options.md").read_text()
TAKEN = {
    (tool, version): set(re.findall(r"`(\w+)`", options))
    for flows, options in re.findall(r"^\| (`bulk`.*|`cbr`.*|`\w+`(?:, `\w+`)*) \| (.*) \|$", PAGE, re.MULTILINE)
    for tool, version in re.findall(r"`(\w+)`(?: \(version ([^)]*)\))?", flows)
    if tool in KINDS
}
"""The page's table: the options of each kind, and for HTTP of its versions."""
NEEDED = {
    "cbr": ['rate = "1mbit"'],
    "poisson": ['rate = "1mbit"'],
    "on_off": ['rate = "1mbit"', 'on = "1s"', 'off = "1s"'],
    "request": ["response_size = 1000"],
    "incast": ["response_size = 1000", "senders = 2"],
    "open_loop": ['arrivals = "every 1s"', "size = 1000"],
    "command": ['client = ["true"]'],
}


@pytest.mark.parametrize(("tool", "version"), TAKEN)
def test_each_kind_takes_the_options_of_the_page_and_no_others(tool: str, version: str) -> None:
    for option in OPTIONS:
        example = option.examples[0]
        written = {bool: str(example).lower(), str: f'"{example}"'}.get(type(example), str(example).replace("'", '"'))
        chosen = [f'version = "{version[-1]}"'] if version else []
        lines = [*NEEDED.get(tool, []), *chosen, f"{option.name} = {written}"]
        try:
            parse_scenario(TEXT + flow("f", tool, *lines))
            taken = True
        except ScenarioError as error:
            taken = False
            assert {problem.where for problem in error.problems} == {f"flows.f.{option.name}"}, str(error)
        assert taken == (option.name in TAKEN[tool, version]), option.name


def test_the_page_has_all_kinds() -> None:
    assert {tool for tool, _ in TAKEN} == set(KINDS)
    assert {tool for tool, version in TAKEN if version} == {"http", "video"} and len(TAKEN) == len(KINDS) + 2
