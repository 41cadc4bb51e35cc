"""Presets of links, and address translation, as scenarios state them."""

from __future__ import annotations

import pytest
from netwarp.lab import build_lab
from netwarp.plan import make_plan
from netwarp.scenario import ScenarioError, parse_scenario
from netwarp.scenario.model.link_presets import LINK_PRESETS

HEAD = """\
name = "t"
duration = "5s"
[nodes]
isp = { forward = true }
user = {}
far = {}
[links.core]
ends = ["far", "isp"]
rate = "1gbit"
[links.access]
ends = ["isp", "user"]
"""
COMMAND = '[flows.own]\nfrom = "far"\nto = "user"\ntool = "command"\nclient = ["true"]\n'
FLOW = '[flows.ping]\nfrom = "far"\nto = "user"\ntool = "ping"\n'


def access(fields: str) -> str:
    """The link as JSON of the lab, and its changes, in words that tests compare."""
    lab = build_lab(make_plan(parse_scenario(HEAD + fields + FLOW)).runs[0], devices=False)
    ends = lab.links[1].ends
    down, up = ((end.shaper.rate_bps if end.shaper else None, end.wire.delay_ns) for end in ends)
    changes = {change.node for change in lab.changes}
    return f"{down} {up} {sorted(changes)}"


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ('like = "dsl"', "(1500000, 25000000) (384000, 25000000) []"),
        ('like = "dsl"\ndelay = "1ms"', "(1500000, 1000000) (384000, 1000000) []"),
        ('like = "satellite-geo"', "(100000000, 300000000) (10000000, 300000000) []"),
        ('like = "lte"\nrate = "9mbit"', "(9000000, 35000000) (9000000, 35000000) []"),
        ('like = "lte"', "(4719000, 35000000) (12000000, 35000000) ['isp']"),
        ('like = "wifi"', "(33691000, 1000000) (33691000, 1000000) ['isp', 'user']"),
        ('like = "satellite-leo"', "(105908000, 26284000) (12000000, 20000000) ['isp']"),
        ('like = "cable"\ntrace = "lte"', "(4719000, 14000000) (4719000, 14000000) ['isp', 'user']"),
    ],
)
def test_a_preset_gives_the_fields_that_a_link_lacks(fields: str, expected: str) -> None:
    assert access(f"{fields}\n") == expected


def test_every_preset_is_a_link_and_states_its_source() -> None:
    for name, preset in LINK_PRESETS.items():
        assert access(f'like = "{name}"\n') and len(preset.source) > 20


def test_presets_can_be_swept() -> None:
    plan = make_plan(parse_scenario(f'{HEAD}like = "dsl"\n{FLOW}[sweep]\n"links.access.like" = ["dsl", "lte", "3g"]\n'))
    rates = [run.scenario.links["access"].rate.forward for run in plan]
    assert rates == [1_500_000, 4_719_000, 1_600_000] and len({run.id for run in plan}) == 3


def nat(text: str, flows: str = COMMAND) -> str:
    return (
        HEAD.replace("isp = { forward = true }", f"isp = {{ forward = true, nat = {text} }}")
        + 'rate = "1mbit"\n'
        + flows
    )


def test_a_behaviour_is_that_of_mapping_and_filtering() -> None:
    lab = build_lab(make_plan(parse_scenario(nat('"address-dependent"'))).runs[0])
    found = next(node for node in lab.nodes if node.name == "isp")
    assert found.nat is not None
    assert (found.nat.mapping, found.nat.filtering, found.nat.preserved) == ("address", "address", False)
    assert (found.nat.index, found.nat.address) == (lab.links[1].ends[0].index, "10.0.1.1"), "the last link of the node"
    assert found.sysctl["net.netfilter.nf_conntrack_udp_timeout"] == "300"
    outside = build_lab(make_plan(parse_scenario(nat('{ outside = "core" }'))).runs[0]).nodes[0].nat
    assert outside is not None and outside.address == "10.0.0.2" and outside.preserved


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('"full cone"', "full cone"),
        ('{ outside = "acces" }', 'has no link "acces" (did you mean "access"?)'),
        ('{ mapping = "address-dependent", ports = "preserved" }', 'write ports = "random"'),
        ('{ timeout = "1500ms" }', "whole seconds"),
    ],
)
def test_a_translation_that_cannot_be_is_refused(text: str, words: str) -> None:
    with pytest.raises(ScenarioError, match=r"nodes\.isp\.nat") as caught:
        parse_scenario(nat(text))
    assert words in str(caught.value)


def test_a_node_that_translates_forwards_between_two_links() -> None:
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(HEAD.replace("user = {}", 'user = { nat = "address-dependent" }') + 'rate = "1mbit"\n' + FLOW)
    assert "set forward = true" in str(caught.value) and "no link to the inside and another one" in str(caught.value)


def test_flows_across_a_translation_are_refused() -> None:
    with pytest.raises(ScenarioError, match=r"flows\.ping: its packets cross the address translation of \"isp\""):
        parse_scenario(nat('"address-dependent"', FLOW))
    parse_scenario(nat('"address-dependent"', FLOW.replace('"user"', '"isp"')))
