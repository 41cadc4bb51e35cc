"""Files of networks: the elements that count, and the messages about wrong ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from netwarp.scenario import Scenario, ScenarioError, parse_scenario

GRAPHML_DELAY = """<graphml><graph><node id="a"/><node id="b"/>
<edge source="a" target="b"><data key="delay">7</data></edge></graph></graphml>"""


def scenario(topology: str, folder: Path, more: str = "") -> Scenario:
    """A scenario with this topology, in TOML, and a ping from `a` to `b`."""
    flow = '[flows.p]\nfrom = "a"\nto = "b"\ntool = "ping"\n'
    return parse_scenario(f'name = "t"\nduration = "1s"\ntopology = {topology}\n{flow}{more}', folder=folder)


def test_what_of_a_graphml_file_counts(tmp_path: Path) -> None:
    """Keys after the graph do; ports, data of graphs, other namespaces, and long data without a meaning here do not."""
    text = f"""<graphml xmlns="urn:g" xmlns:y="urn:y"><graph>
<node id="n1"><data key="k0">a</data><port name="p"><data key="k0">port</data></port>
<data key="picture">{"x" * 20_000}</data></node>
<node id="n2"><data key="k0">b</data><graph><data key="k0">inner</data></graph></node>
<node id="n3"><data key="k0"/></node>
<edge source="n1" target="n2"><data key="k1">7ms</data><data key="z"><y:node id="ghost"/></data></edge>
</graph><key id="k0" for="node" attr.name="label"/><key id="k1" for="edge" attr.name="delay"/></graphml>"""
    (tmp_path / "net.graphml").write_text(text)
    found = scenario('"net.graphml"', tmp_path)
    assert [*found.nodes] == ["a", "b", "n3"]
    assert {name: link.delay.forward for name, link in found.links.items()} == {"a-b": 7_000_000}
    (tmp_path / "net.graphml").write_text(text.replace("7ms", "7" * 20_000))
    with pytest.raises(ScenarioError, match=r"net\.graphml:6: its delay has more than 10,000 characters"):
        scenario('"net.graphml"', tmp_path)


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("n.csv", "from,to,delay\na,b,10\n", 'n.csv:2: delay: "10" has no unit'),
        ("n.csv", "from,to,rate\na,b,\nb,c,ten\n", "n.csv:3: rate: "),
        ("n.csv", "from,to,\na,b,\n", "n.csv:1: column 3 has no name"),
        ("n.graphml", GRAPHML_DELAY, "n.graphml:2: delay: "),
        ("n.gml", "graph [ ]", "whose name ends in .graphml or .csv"),
    ],
)
def test_a_wrong_value_of_a_file_is_said_with_its_line(tmp_path: Path, name: str, text: str, why: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(ScenarioError) as refused:
        scenario(f'"{name}"', tmp_path)
    assert why in str(refused.value)


def test_names_of_files_may_have_blanks_and_lines_end_in_cr(tmp_path: Path) -> None:
    (tmp_path / "my net.csv").write_bytes(b"from,to\ra,b\r")
    assert [*scenario('"my net.csv"', tmp_path).links] == ["a-b"]
    with pytest.raises(ScenarioError, match="a file has no `access` links; all of its links take `backbone`"):
        scenario('{ file = "my net.csv", access = { rate = "5mbit" } }', tmp_path)
    with pytest.raises(ScenarioError, match=r'no such link \(did you mean "a-b"'):
        scenario('"my net.csv"', tmp_path, '[links.b-a]\ndelay = "1ms"\n')
