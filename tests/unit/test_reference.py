"""The reference of the scenario format: its examples load, and its JSON Schema agrees with the loader."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from netwarp.plan import make_plan
from netwarp.scenario import (
    ScenarioError,
    load_scenario,
    parse_scenario,
    shipped_scenarios,
)
from netwarp.scenario.load.template import new_scenario
from netwarp.scenario.model import Scenario
from netwarp.scenario.model.schema import annotated_schema, scenario_schema
from pydantic import BaseModel

from tools.scenario_page import BASE, STUDY, Section, example, sections

SCHEMA = annotated_schema()
VALIDATOR = jsonschema.Draft202012Validator(scenario_schema())
PLACES = [Section("", Scenario, (), {}), *sections()]


def fields() -> Iterator[tuple[Section, str, dict[str, Any]]]:
    """Every field of every table, with the schema's description."""
    for section in PLACES:
        table = SCHEMA["$defs"].get(section.model.__name__, SCHEMA)
        for name, field in table["properties"].items():
            yield section, name, field


EXAMPLES = [
    pytest.param(example(section.place, section.fixed, field["beside"] | {name: value}), id=f"{section.header} {name}")
    for section, name, field in fields()
    for value in field["examples"]
]


def test_the_page_has_every_table_and_every_field_of_the_model() -> None:
    shown = {section.model for section in PLACES}
    assert {model for model in _models(Scenario) if model.__name__ in SCHEMA["$defs"]} | {Scenario} == shown
    for model in shown:
        table = SCHEMA["$defs"].get(model.__name__, SCHEMA)
        assert set(table["properties"]) == {f.alias or name for name, f in model.model_fields.items()}


def _models(model: type[BaseModel]) -> set[type[BaseModel]]:
    found = {model}
    waiting: list[Any] = [field.annotation for field in model.model_fields.values()]
    while waiting:
        part = waiting.pop()
        if isinstance(part, type) and issubclass(part, BaseModel):
            if part not in found:
                found.add(part)
                waiting += [field.annotation for field in part.model_fields.values()]
        else:
            waiting += getattr(part, "__args__", ())
    return found


UNSHOWN = {"nodes", "links", "flows", "changes", "expect", "command"}
"""Fields without examples: their tables have examples; a tuner's `command` is not available."""


def test_every_field_says_what_it_means_how_it_is_written_and_what_is_refused() -> None:
    for section, name, field in fields():
        assert field.get("description"), (section.header, name)
        assert field["examples"] or name in UNSHOWN, (section.header, name)
        tables = {"run", "record", "changes", "tuners", "cases", "expect", "captures", "tool"}
        assert field["refused"] or name in tables, (section.header, name)


@pytest.mark.parametrize("text", EXAMPLES)
@pytest.mark.slow
def test_every_example_loads_and_is_valid_by_the_schema(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes = "".join(f'<node id="{name}"/>' for name in ("h1", "h2", "r1"))
    edges = '<edge source="h1" target="r1"/><edge source="r1" target="h2"/>'
    (tmp_path / "abilene.graphml").write_text(f"<graphml><graph>{nodes}{edges}</graph></graphml>")
    monkeypatch.chdir(tmp_path)
    make_plan(parse_scenario(text))
    VALIDATOR.validate(tomllib.loads(text))


def test_the_scenario_that_the_page_shows_loads() -> None:
    parse_scenario(BASE)
    parse_scenario(BASE + STUDY)


@pytest.mark.slow
def test_every_refused_value_is_refused() -> None:
    for section, name, field in fields():
        for value in field["refused"]:
            with pytest.raises(ScenarioError):
                parse_scenario(example(section.place, section.fixed, field["beside"] | {name: value}))


@pytest.mark.parametrize("name", shipped_scenarios())
def test_shipped_scenarios_are_valid_by_the_schema(name: str) -> None:
    VALIDATOR.validate(tomllib.loads(shipped_scenarios()[name].read_text()))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('delay = "10ms"', 'delya = "10ms"'),
        ('delay = "10ms"', "delay = 10"),
        ('delay = "10ms"', 'delay = "10"'),
        ('rate = "10mbit"', 'rate = "10mbps"'),
        ('rate = "10mbit"', 'rate = { forward = "1mbit", backward = "1mbit" }'),
        ('tool = "bulk"', 'tool = "bulk"\ninterval = "1s"'),
        ('tool = "bulk"', 'tool = "blk"'),
        ("forward = true", "forward = 1"),
        ('duration = "10s"', ""),
    ],
)
def test_the_schema_refuses_what_the_loader_refuses(old: str, new: str) -> None:
    text = BASE.replace(old, new, 1)
    assert text != BASE
    with pytest.raises(ScenarioError):
        parse_scenario(text)
    assert not VALIDATOR.is_valid(tomllib.loads(text))


def test_a_new_scenario_is_valid_and_never_takes_a_files_place(tmp_path: Path) -> None:
    path = new_scenario("mine", tmp_path)
    assert path == tmp_path / "mine.toml"
    VALIDATOR.validate(tomllib.loads(path.read_text()))
    assert parse_scenario(path.read_text()).name == "mine"
    path.write_text("mine")
    with pytest.raises(ScenarioError, match="exists already"):
        new_scenario("mine.toml", tmp_path)
    assert path.read_text() == "mine"


@pytest.mark.parametrize("name", ["", "two words", "../up", "a/b", "x" * 65, ".toml"])
def test_a_new_scenario_has_a_name(name: str, tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="is not a name"):
        new_scenario(name, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("source", sorted(shipped_scenarios()))
def test_a_copy_of_a_shipped_scenario_is_it_under_another_name(source: str, tmp_path: Path) -> None:
    path = new_scenario("mine", tmp_path, source)
    copied = load_scenario(path)
    assert copied.name == "mine"
    assert copied.model_dump(exclude={"name"}) == load_scenario(source).model_dump(exclude={"name"})
    with pytest.raises(ScenarioError, match="no shipped scenario of that name"):
        new_scenario("other", tmp_path, "bufferblot")
