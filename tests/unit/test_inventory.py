"""The inventory of the engine `ssh`: its permitted contents, and the errors for one that cannot be used."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import pytest
from netwarp.engines.base import EngineError
from netwarp.engines.ssh.inventory import disagreements, read_inventory
from netwarp.scenario import load_scenario

A = '[nodes.a]\nhost = "a"\n'
L = '[nodes.a.interfaces]\nl = "e"'


def test_the_shipped_inventory_is_that_of_the_study() -> None:
    file = Path(str(resources.files("netwarp") / "studies" / "three_node" / "inventories" / "three-node.toml"))
    inventory = read_inventory(file)
    scenario = load_scenario("three-node")
    assert list(disagreements(inventory, scenario)) == []
    for link, described in scenario.links.items():
        assert described.interfaces is not None
        for node, interface in zip(described.ends, described.interfaces, strict=True):
            assert inventory.nodes[node].interfaces[link] == interface


def test_where_an_inventory_and_a_scenario_disagree(tmp_path: Path) -> None:
    file = tmp_path / "inventory.toml"
    file.write_text(
        '[nodes.client]\nhost = "a"\ninterfaces = { near = "e1", fare = "e1" }\n'
        '[nodes.bottleneck]\nhost = "b"\ninterfaces = { near = "e1" }\n'
    )
    found = [sentence for _, sentence in disagreements(read_inventory(file), load_scenario("three-node"))]
    assert [sentence.split(":")[0].split(" (")[0] for sentence in found] == [
        "the inventory has no machine for the node server",
        "the inventory does not say which interface of bottleneck the link far ends at",
        "the inventory names a link fare of client, which has none of that name",
        "the inventory has e1 of client at two links; each link needs its own",
    ]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "nodes is missing"),
        (f'[nodes.a]\nhost = "-oProxyCommand=x"\n{L}', "nodes.a.host"),
        (f"{A}port = 70000\n{L}", "must be a port"),
        (f'{A}root = "su"\n{L}', '"none" or "sudo"'),
        (f'{A}shell = "sh"\n{L}', "is not a field of an inventory"),
        (f'{A}directory = "tmp"\n{L}', "must be an absolute path"),
        (f'{A}[nodes.a.interfaces]\nl = "a/b"', "nodes.a.interfaces.l"),
        (f'clock_limit = "soon"\n{A}{L}', "clock_limit"),
        (f'ssh_config = "nowhere"\n{A}{L}', "an ssh_config that does not exist"),
        ("[nodes", "cannot be read"),
    ],
)
def test_an_inventory_that_cannot_be_used_says_why(tmp_path: Path, text: str, sentence: str) -> None:
    (tmp_path / "inventory.toml").write_text(text)
    with pytest.raises(EngineError) as caught:
        read_inventory(tmp_path / "inventory.toml")
    assert sentence in str(caught.value)


def test_an_inventory_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="cannot be read"):
        read_inventory(tmp_path / "none.toml")
