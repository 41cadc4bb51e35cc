"""Kinds of flow are records that all stages use; none refers to a tool by its name."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import netwarp
import pytest
from netwarp.engines.mappings import needed_mappings, too_many_mappings
from netwarp.flows import KINDS, kind_of
from netwarp.flows.incast import IncastFlow
from netwarp.flows.kind import COUNTED
from netwarp.lab.build import memory_bytes
from netwarp.lab_format.model import read_lab
from netwarp.plan import make_plan
from netwarp.scenario import ScenarioError, parse_scenario
from scenario_texts import replaced

ROOT = Path(netwarp.__file__).parent
AGENT = ROOT.parents[1] / "agent" / "src" / "traffic" / "mod.rs"
ASKING = ("lab", "store", "engines", "execute", "analysis", "compare", "plots", "views", "report")
"""The stages that must not name kinds."""
NAMES = set(KINDS) - set(COUNTED.values())
"""Names of kinds. Where a transport has a single kind, stages refer to the transport by the kind's name."""
NAMED = re.compile(f"[\"']({'|'.join(NAMES)})[\"']")
"""A kind's name in quotes."""


def incast(lines: str) -> str:
    return replaced(('tool = "bulk"', f'tool = "incast"\nresponse_size = 1000\n{lines}'))


@pytest.mark.parametrize("stage", ASKING)
def test_no_stage_names_a_kind(stage: str) -> None:
    """Comparisons with constants, lists, and look-ups; `command` is a key of other things, too."""
    named = []
    for path in (ROOT / stage).rglob("*.py"):
        text = path.read_text()
        # Parsing every file takes seconds, and few have such a word.
        for node in ast.walk(ast.parse(text)) if NAMED.search(text) else ():
            if isinstance(node, ast.Compare | ast.Tuple | ast.List | ast.Set | ast.Dict | ast.MatchValue):
                named += [f"{path.relative_to(ROOT)}:{child.lineno}: {child.value!r}" for child in _constants(node)]
    assert named == []


def test_no_stage_imports_a_kind() -> None:
    """Except studies, which import a kind's output, and advice for incasts."""
    importing = {
        path.relative_to(ROOT).parts[0]
        for path in ROOT.rglob("*.py")
        if "netwarp.flows" in (text := path.read_text())
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ImportFrom) and node.module
        for name in [f"{node.module}.{alias.name}" for alias in node.names]
        if any(name.startswith(f"netwarp.flows.{tool}") for tool in KINDS)
    }
    assert importing == {"advise", "flows", "studies"}


def _constants(node: ast.AST) -> Iterator[ast.Constant]:
    return (n for n in ast.iter_child_nodes(node) if isinstance(n, ast.Constant) and n.value in NAMES)


def test_a_kind_and_its_model_have_one_name() -> None:
    for tool, kind in KINDS.items():
        assert kind.tool == tool
        assert get_args(kind.model.model_fields["tool"].annotation) == (tool,)


def test_the_agent_has_the_same_kinds() -> None:
    table = AGENT.read_text().partition("const KINDS")[2].partition("];")[0]
    # `("bulk", …)`, or the word's constant in the module of that name: `(command::TOOL, …)`.
    assert set(re.findall(r'\("(\w+)",|\((\w+)::TOOL', table)) == {
        ("", kind) if kind == "command" else (kind, "") for kind in KINDS
    }


def test_of_a_kind_that_is_not_known_nothing_is_assumed() -> None:
    kind = kind_of("of a later version")
    assert kind.transport_of({"protocol": "udp"}) is None
    assert not (kind.greedy or kind.probe or kind.datagrams or kind.connects or kind.counts_for_fairness)
    assert kind.connections_of({}) == 1


@pytest.mark.parametrize("senders", [0, 1001, '"x"'])
def test_senders_that_are_none_or_too_many_are_refused(senders: object) -> None:
    with pytest.raises(ScenarioError, match=r"senders"):
        parse_scenario(incast(f"senders = {senders}"))


def test_each_sender_takes_memory() -> None:
    few, many = (make_plan(parse_scenario(incast(f"senders = {n}")), seeds=[1]).runs[0] for n in (1, 1000))
    assert isinstance(many.scenario.flows["bulk"], IncastFlow)
    assert memory_bytes(many) - memory_bytes(few) >= 999 * 320 * 1024 - 32 * 2**20


def test_each_sender_takes_mappings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("netwarp.engines.mappings.max_mappings", lambda: needed_mappings(500))
    assert needed_mappings(0, moved=2) == needed_mappings(1)
    ends = {"id": 0, "name": "f", "group": "f", "source": "10.0.0.1", "destination": "10.0.0.2", "start_ns": 0}
    flows = [{**ends, "tool": "incast", "senders": 300}, {**ends, "tool": "bulk"}]
    assert too_many_mappings(read_lab({"duration_ns": 1, "flows": flows})) is None
    reason = too_many_mappings(read_lab({"duration_ns": 1, "flows": [*flows, flows[0]]}))
    assert reason is not None
    assert f"3 flows with 601 connections take up to {needed_mappings(600, moved=1)} memory mappings" in reason
