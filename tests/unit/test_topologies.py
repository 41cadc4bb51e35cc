"""Generated networks: the shapes, files, and a scenario with one, which is the scenario that has it written out."""

from __future__ import annotations

import math
from ipaddress import ip_interface, ip_network
from pathlib import Path
from typing import Any

import networkx as nx  # type: ignore[import-untyped]
import pytest
from hypothesis import given
from hypothesis import strategies as st
from netwarp.lab import build_lab
from netwarp.lab.drawing import draw
from netwarp.plan import make_plan
from netwarp.report import drawing
from netwarp.scenario import Scenario, ScenarioError, parse_scenario
from netwarp.scenario.model.paths import toml
from netwarp.scenario.model.trace import trace_files
from netwarp.scenario.topologies import SHAPES, Network, read_topology
from netwarp.scenario.topologies.graphml import EARTH_KM
from netwarp.store.network import network_of
from netwarp.values.json_values import as_table

FLOW = '[flows.p]\nfrom = "{}"\nto = "{}"\ntool = "ping"\n'
HEAD = 'name = "t"\nduration = "1s"\n'


def scenario(
    topology: str, source: str, target: str, more: str = "", *settings: str, folder: Path = Path()
) -> Scenario:
    """A scenario with this topology, in TOML, and a ping."""
    text = f"{HEAD}topology = {topology}\n{FLOW.format(source, target)}{more}"
    return parse_scenario(text, settings=settings, folder=folder)


def graph(network: Network) -> nx.Graph:
    """The network for the graph library."""
    found = nx.Graph([link.ends for link in network.links.values()])
    assert found.number_of_edges() == len(network.links), "two links join the same nodes"
    return found


def hosts(network: Network) -> list[str]:
    """The nodes that do not forward."""
    return [name for name, node in network.nodes.items() if not node]


@pytest.mark.parametrize(
    ("shape", "numbers", "counted"),
    [
        ("star", {"n": 7}, (1, 7, 7, 2)),
        ("dumbbell", {"n": 5}, (2, 10, 11, 3)),
        ("parking-lot", {"n": 6}, (7, 14, 6 + 14, 8)),
        ("ring", {"n": 9}, (9, 9, 18, 4 + 2)),
        ("leaf-spine", {"leaves": 4, "spines": 3, "hosts": 5}, (7, 20, 12 + 20, 4)),
        *(("fat-tree", {"k": k}, (5 * k * k // 4, k**3 // 4, 3 * k**3 // 4, 6)) for k in (2, 4, 8)),
    ],
)
def test_shapes(shape: Any, numbers: dict[str, int], counted: tuple[int, int, int, int]) -> None:
    """The numbers of routers, of hosts and of links, and the most links between two nodes."""
    network = SHAPES[shape].make(**numbers)
    found = graph(network)
    ends = len(hosts(network))
    assert (len(network.nodes) - ends, ends, found.number_of_edges(), nx.diameter(found)) == counted
    assert {*found.nodes} == {*network.nodes}
    assert all(found.degree(host) == 1 for host in hosts(network))
    assert {name for name, link in network.links.items() if link.kind == "access"} == {
        name for name, link in network.links.items() if {*link.ends} & {*hosts(network)}
    }


def test_a_fat_tree_is_that_of_its_paper() -> None:
    """Every switch has k ports, and between hosts of different pods there are (k/2)² shortest paths."""
    for k in (4, 6):
        found = graph(network := SHAPES["fat-tree"].make(k=k))
        assert {found.degree(node) for node in network.nodes if network.nodes[node]} == {k}
        assert len([*nx.all_shortest_paths(found, "h1", f"h{k**3 // 4}")]) == (k // 2) ** 2


def test_routes_over_a_fat_tree_use_every_core_switch() -> None:
    """Each edge switch sends up over another path; k = 4: 8 edge switches over 4 core switches."""
    lab = build_lab(make_plan(scenario('"fat-tree k=4"', "h1", "h16")).runs[0])
    index = {end.index: link.ends[1 - place].node for link in lab.links for place, end in enumerate(link.ends)}
    devices = {(end.node, end.interface): end.index for link in lab.links for end in link.ends}
    towards = {end.node: ip_interface(end.addresses[0]).ip for link in lab.links for end in link.ends}

    def up(node: str, target: str) -> str:
        here = [route for route in lab.routes if route.node == node and towards[target] in ip_network(route.prefix)]
        best = max(here, key=lambda route: ip_network(route.prefix).prefixlen)
        return index[devices[node, best.interface]]

    cores = set()
    for host in range(1, 17):
        pod, edge = (host - 1) // 4 + 1, (host - 1) % 4 // 2 + 1
        target = f"h{(host + 7) % 16 + 1}"
        above = up(f"p{pod}e{edge}", target)
        assert above == f"p{pod}a{edge}"
        cores.add(up(above, target))
    assert cores == {"c1", "c2", "c3", "c4"}


def test_a_topology_counts_by_the_network_that_it_generates() -> None:
    made = scenario('"ring n=3"', "h1", "h2", '[links.r1-r2]\nrate = "5mbit"\n')
    data = made.source.data
    links = {name: dict(as_table(link)) for name, link in as_table(data["links"]).items()}
    text = f"{HEAD}nodes = {toml(as_table(data['nodes'])).replace('True', 'true')}\nlinks = {toml(links)}\n"
    written = parse_scenario(text + FLOW.format("h1", "h2"))
    assert links["r1-r2"] == {"ends": ["r1", "r2"], "rate": "5mbit", "delay": "1ms"}
    assert [run.id for run in make_plan(written)] == [run.id for run in make_plan(made)]
    assert [run.id for run in make_plan(scenario('"ring n=3"', "h1", "h2"))] != [run.id for run in make_plan(made)]


def test_fields_of_kinds_links_and_nodes() -> None:
    found = scenario(
        '{ shape = "dumbbell", n = 2, access = { delay = "2ms" }, backbone = { queue = "fq" } }',
        "s1",
        "extra",
        """
        [nodes.s2]
        sysctl = { "net.ipv4.tcp_ecn" = 1 }
        [nodes.extra]
        [links.s1-left.rate]
        forward = "3mbit"
        [links.more]
        ends = ["extra", "right"]
        rate = "1gbit"
        """,
        "links.d1-right.like=dsl",
    )
    assert found.links["s1-left"].rate.of(0) == 3_000_000
    assert found.links["s1-left"].rate.of(1) == 10**9, "the other direction keeps its rate"
    assert {found.links[name].delay.of(0) for name in ("s1-left", "s2-left", "d2-right")} == {2_000_000}
    assert found.links["d1-right"].rate.of(1) == 384_000, "a preset replaces rate and delay of the shape"
    assert found.links["bottleneck"].queue.forward == "fq"
    assert found.nodes["s2"].sysctl == {"net.ipv4.tcp_ecn": "1"}
    assert [*found.links][-1] == "more"
    assert [*found.nodes][:2] == ["left", "right"]


@pytest.mark.parametrize(
    ("topology", "why"),
    [
        ('"fat-tree k=3"', "even k, not 3"),
        ('"fat-tree k=0"', "at least 1, not 0"),
        ('"fat-tree k=20"', "makes 2,500 nodes; a scenario has at most 2,000"),
        ('"fat-tree k=18"', "makes 4,374 links; a scenario has at most 4,000"),
        ('"star n=0"', "at least 1, not 0"),
        ('"star"', "needs `n`"),
        ('"star k=4"', "needs `n`"),
        ('"star n=4 k=4"', "has no `k`; it takes `n`"),
        ('{ shape = "star", n = 2, backbone = { rate = "1mbit" } }', "all of its links take `access`"),
        ('"star n=four"', "whole number"),
        ('"star n=4.5"', "whole number"),
        ('"star n"', '"n" is not understood'),
        ('"star n=3 n=4"', '"n" is written twice'),
        ('"star n=true"', "whole number, not true"),
        ('"sta n=4"', "must be"),
        ('""', "must be"),
        ("5", "must be a table"),
        ("[]", "must be a table"),
        ("{}", "either `shape`"),
        ('{ shape = "star", file = "a.csv", n = 2 }', "either `shape`"),
        ('"ring n=2"', "at least 3, not 2"),
        ('{ shape = "star", n = 2, access = { rate = "0bit" } }', "rate"),
        ('{ shape = "star", n = 2, access = { loss = "200%" } }', "200%"),
        ('"missing.graphml"', "cannot be read"),
        ('"/dev/zero.csv"', "cannot be read"),
        ('{ file = "/dev/zero" }', "must be a file whose name ends in .graphml or .csv"),
    ],
)
def test_refused(topology: str, why: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        scenario(topology, "h1", "h2")
    assert why in str(refused.value)
    assert refused.value.problems[0].line == 3
    assert refused.value.problems[0].where.startswith("topology")


def test_names_that_the_topology_does_not_have() -> None:
    with pytest.raises(
        ScenarioError, match=r'no such link \(did you mean "h1-hub"\?\); a link of your own needs `ends`'
    ):
        scenario('"star n=2"', "h1", "h2", '[links.h1-hubb]\nrate = "1mbit"\n')
    with pytest.raises(ScenarioError, match='there is no node "h3"'):
        scenario('"star n=2"', "h1", "h3")
    with pytest.raises(ScenarioError, match='there is no "h9-hub" in links'):
        scenario('"star n=2"', "h1", "h2", "", "links.h9-hub.rate=1mbit")


def test_settings_of_a_topology_decide_which_names_others_may_have() -> None:
    found = scenario('"star n=2"', "h1", "h2", "", "links.h3-hub.rate=1mbit", "topology.n=3", "flows.p.to=h3")
    assert len(found.links) == 3
    assert found.links["h3-hub"].rate.forward == 1_000_000
    assert len(scenario('"star n=2"', "h1", "h2", "", "topology=ring n=5").links) == 10


def test_a_sweep_of_a_topology() -> None:
    more = '[sweep]\n"topology.n" = [2, 3]\n"topology.access.rate" = ["1mbit", "2mbit"]\n'
    found = make_plan(scenario('"star n=2"', "h1", "h2", more))
    assert [(len(run.scenario.nodes), run.scenario.links["h1-hub"].rate.forward) for run in found] == [
        (3, 1_000_000),
        (3, 2_000_000),
        (4, 1_000_000),
        (4, 2_000_000),
    ]
    assert len({run.id for run in found}) == 4
    assert {run.id for run in found} >= {
        run.id for run in make_plan(scenario('"star n=3"', "h1", "h2", "", "topology.access.rate=2mbit"))
    }


def test_a_wrong_point_of_a_sweep_names_the_axis() -> None:
    wrong = scenario('"fat-tree k=4"', "h1", "h2", '[sweep]\n"topology.k" = [4, 5, 2]\n')
    with pytest.raises(ScenarioError, match=r"sweep.*even k, not 5.*\(at topology.k = 5\)"):
        make_plan(wrong)
    far = scenario('"star n=9"', "h1", "h9", '[[cases]]\nname = "few"\nset = { "topology.n" = 3 }\n')
    with pytest.raises(ScenarioError, match=r'cases.*there is no node "h9".*\(at topology.n = 3\)'):
        make_plan(far)


def test_cases_with_networks_of_their_own_name_only_links_that_they_have() -> None:
    cases = """[presets.late]
"links.r4-r5.delay" = "9ms"
[[cases]]
name = "small"
set = { "topology.n" = 3 }
[[cases]]
name = "small and slow"
set = { "topology.n" = 3, "links.r2-r3.delay" = "8ms" }
[[cases]]
name = "slow"
use = ["late"]
"""
    runs = {run.case: run.scenario.links for run in make_plan(scenario('"ring n=5"', "h1", "h3", cases))}
    assert {case: len(links) for case, links in runs.items()} == {"small": 6, "small and slow": 6, "slow": 10}
    assert runs["small and slow"]["r2-r3"].delay.forward == 8_000_000
    assert runs["slow"]["r4-r5"].delay.forward == 9_000_000
    wrong = scenario('"ring n=5"', "h1", "h3", cases.replace("links.r2-r3", "links.r4-r5"))
    with pytest.raises(ScenarioError, match=r'cases.1.*there is no "r4-r5"'):
        make_plan(wrong)


CSV = 'from,to,rate,delay,name,queue\n# a comment\na,b,5mbit,3ms,,\nb,c,,,slow,"fq"\na,b,,,,\n'


def test_an_edge_list(tmp_path: Path) -> None:
    (tmp_path / "net.csv").write_text(CSV)
    found = scenario('{ file = "net.csv", backbone = { rate = "7mbit" } }', "a", "c", folder=tmp_path)
    assert [*found.links] == ["a-b", "slow", "a-b-2"]
    assert [link.rate.forward for link in found.links.values()] == [5_000_000, 7_000_000, 7_000_000]
    assert found.links["a-b"].delay.forward == 3_000_000
    assert found.links["slow"].queue.forward == "fq"
    assert {name: node.forward for name, node in found.nodes.items()} == {"a": True, "b": True, "c": False}
    kept = trace_files(found.source.data, found.source.folder_of)
    assert kept == {"net.csv": CSV.encode()}, "a result keeps the file, so that it can be run again"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "net.csv:1: the first line"),
        ("from,to\n", "no links"),
        ("from,to,rat\n", '"rat" is not a column'),
        ("from,to\na\n", "net.csv:2: 1 cells for 2 columns"),
        ("from,to\na,a\n", 'net.csv:2: both ends are "a"'),
        ("from,to\nNew York,b\n", 'net.csv:2: "New York" is not a name'),
        ("from,to,name\na,b,x\nb,c,x\n", 'net.csv:3: there is another link "x"'),
        ("from,to,to\n", "each once"),
        ('from,to\n"a,b\n', "not CSV"),
        (f"from,to\n{'a' * 64},b\n", 'in a column "name"'),
    ],
)
def test_wrong_edge_lists(tmp_path: Path, text: str, why: str) -> None:
    (tmp_path / "net.csv").write_text(text)
    with pytest.raises(ScenarioError) as refused:
        scenario('"net.csv"', "a", "b", folder=tmp_path)
    assert why in str(refused.value)


def graphml(body: str, before: str = "") -> str:
    """A GraphML document with the keys of the Topology Zoo."""
    keys = "".join(
        f'<key attr.name="{name}" for="{of}" id="{name[:4]}"/>'
        for name, of in (("label", "node"), ("Latitude", "node"), ("Longitude", "node"), ("LinkSpeedRaw", "edge"))
    )
    return (
        f'<?xml version="1.0"?>{before}\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">{keys}<graph>\n{body}\n'
        "</graph></graphml>"
    )


def node(key: str, label: str, place: tuple[float, float] | None = None) -> str:
    """A node with its place in degrees."""
    data = f'<data key="labe">{label}</data>'
    if place:
        data += f'<data key="Lati">{place[0]}</data><data key="Long">{place[1]}</data>'
    return f'<node id="{key}">{data}</node>\n'


def test_a_file_of_the_topology_zoo(tmp_path: Path) -> None:
    """On the equator a degree of longitude is 1/360 of the circumference; light takes 5 µs for a km of fibre."""
    body = node("0", "New York", (0, 0)) + node("1", "New York", (0, 90)) + node("2", "(?)", (0, -90)) + node("3", "X")
    body += '<edge source="0" target="1"><data key="Link">10000000000.0</data></edge>\n'
    body += '<edge source="0" target="2"/><edge source="1" target="3"/>'
    (tmp_path / "zoo.graphml").write_text(graphml(body))
    found = scenario('"zoo.graphml"', "New-York", "New-York-2", folder=tmp_path)
    assert [*found.nodes] == ["New-York", "New-York-2", "n2", "X"]
    quarter_km = 2 * math.pi * EARTH_KM / 4
    link = found.links["New-York-New-York-2"]
    assert link.delay.forward == pytest.approx(quarter_km * 5_000, abs=1)
    assert link.rate.forward == 10**10
    assert found.links["New-York-2-X"].delay.forward == 1_000_000, "without coordinates: the default"


PAIR = node("0", "a") + node("1", "b")
BOMB = '<!DOCTYPE g [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "not XML"),
        ("<graphml>", "not XML"),
        (graphml(""), "there are no edges"),
        (graphml(node("0", "&b;"), BOMB), "document type"),
        (graphml("", '<!DOCTYPE g SYSTEM "file:///etc/passwd">'), "document type"),
        (graphml(node("0", "a") + '<edge source="0" target="9"/>'), 'net.graphml:4: the edge leads to "9"'),
        (graphml(node("0", "a") + '<edge source="0" target="0"/>'), 'joins "a" with itself'),
        (graphml(node("0", "a") + node("0", "b")), 'another node "0"'),
        (graphml("<node/>"), "<node> has no id"),
        (graphml(node("0", "a", (91, 0)) + node("1", "b", (0, 0)) + '<edge source="0" target="1"/>'), '"91" cannot be'),
        (
            graphml(node("0", "a") + node("1", "b") + '<edge source="0" target="1"><data key="Link">nan</data></edge>'),
            "nan",
        ),
        (graphml("<hyperedge/>"), "<hyperedge> is not understood"),
        (graphml(node("0", "x" * 20_000)), "more than 10,000 characters"),
        (graphml("".join(f'<node id="{i}"/>' for i in range(10_001))), "more than 10,000 nodes and edges"),
    ],
)
def test_wrong_graphml(tmp_path: Path, text: str, why: str) -> None:
    (tmp_path / "net.graphml").write_text(text)
    with pytest.raises(ScenarioError) as refused:
        scenario('"net.graphml"', "a", "b", folder=tmp_path)
    assert why in str(refused.value)


def test_what_a_graphml_file_gives_by_default(tmp_path: Path) -> None:
    keys = "".join(
        f'<key id="{name}" attr.name="{name}"{of}><default>{value}</default></key>'
        for name, of, value in (
            ("rate", ' for="edge"', "3mbit"),
            ("delay", "", "7ms"),
            ("loss", ' for="node"', "1%"),
            ("other", ' for="edge"', "x"),
        )
    )
    edges = '<edge source="0" target="1"/><edge source="0" target="1"><data key="rate"> 5mbit </data></edge>'
    text = graphml(PAIR + edges).replace("<graph>", f"{keys}<graph>")
    (tmp_path / "net.graphml").write_text(text)
    links = scenario('"net.graphml"', "a", "b", folder=tmp_path).links
    assert [link.rate.forward for link in links.values()] == [3_000_000, 5_000_000]
    assert {link.delay.forward for link in links.values()} == {7_000_000}
    assert not any("p=0.01" in str(link.loss.forward) for link in links.values()), "it is an attribute of nodes"


@pytest.mark.parametrize("encoding", ["klingon", "base64", "idna", "undefined"])
def test_graphml_in_an_encoding_that_is_none(tmp_path: Path, encoding: str) -> None:
    text = graphml(PAIR + '<edge source="0" target="1"/>').replace('"1.0"', f'"1.0" encoding="{encoding}"', 1)
    (tmp_path / "net.graphml").write_text(text)
    with pytest.raises(ScenarioError, match=r"net\.graphml:1: the encoding .* save the file in UTF-8"):
        scenario('"net.graphml"', "a", "b", folder=tmp_path)


@given(st.binary(max_size=300), st.sampled_from(["net.csv", "net.graphml"]))
def test_any_file_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, content: bytes, name: str) -> None:
    place = tmp_path_factory.mktemp("any")
    (place / name).write_bytes(content)
    try:
        assert read_topology(name, place).links
    except ValueError as error:
        assert str(error).startswith(name)


@given(st.text(max_size=60))
def test_any_line_is_understood_or_refused(line: str) -> None:
    try:
        scenario(toml(line.replace("\x7f", "")), "h1", "h2")
    except ScenarioError as error:
        assert "topology" in str(error) or "no node" in str(error) or "TOML" in str(error) or "toml" in str(error)


@pytest.mark.slow
def test_large_networks_are_listed_and_drawn_by_kind() -> None:
    for topology, lines, nodes in (('"star n=1000"', 3, 2), ('"fat-tree k=16"', 9, 4), ('"ring n=500"', 6, 2)):
        lab = build_lab(make_plan(scenario(topology, "h1", "h2")).runs[0])
        text = draw(lab)
        assert len(text.splitlines()) == lines, text
        assert max(map(len, text.splitlines())) < 100
        drawn = drawing.draw(network_of(lab), {"p": ("h1", "h2")}, {})
        assert drawn is not None
        assert drawn[0].count("<rect") == nodes
        assert "hosts" in drawn[0]
