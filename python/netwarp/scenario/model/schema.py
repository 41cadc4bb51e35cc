"""The JSON Schema of the scenario format, for editors; docs/scenario.md is made from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from netwarp.lab_format.wires.netem import Jitter, RandomLoss
from netwarp.scenario.model import Scenario
from netwarp.scenario.model.views import known_views
from netwarp.values.units import format_duration, format_percent, format_rate

_DIRECTED = "Directed_"
_OF_A_NETWORK = ("nodes", "links")
"""Tables that a scenario needs unless its topology generates them."""
NOTES = ("refused", "beside")
"""Keys of fields for the reference page that are not part of JSON Schema."""


def scenario_schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of a scenario file: completion and checks while typing, in editors that know TOML."""
    schema: dict[str, Any] = _without(annotated_schema(), NOTES)
    always = [name for name in schema["required"] if name not in _OF_A_NETWORK]
    network = [{"required": ["topology"]}, {"required": [*_OF_A_NETWORK]}]
    link = schema["$defs"]["Link"]
    # A link of the topology has its ends already.
    link["required"] = [name for name in link["required"] if name != "ends"]
    return schema | {"required": always, "anyOf": network}


def annotated_schema() -> dict[str, Any]:
    """The schema, with the `NOTES` of each field."""
    schema = Scenario.model_json_schema(by_alias=True, mode="validation")
    # The core has no view as an example.
    schema["properties"]["views"]["examples"] = [[name] for name in known_views()[:1]]
    cleaned: dict[str, Any] = _clean(schema, schema["$defs"])
    kept = {name: body for name, body in cleaned["$defs"].items() if _DIRECTED not in name}
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "netwarp scenario"}
    about = {"description": "One network, its traffic, and the runs to make of it."}
    return head | cleaned | about | {"$defs": kept}


def _clean(node: Any, definitions: Mapping[str, Any]) -> Any:
    """Describe the file, not the model: no null, values as they are written, no titles that repeat a field's name."""
    if isinstance(node, list):
        return [_clean(item, definitions) for item in node]
    if not isinstance(node, dict):
        return node
    name = str(node.get("$ref", "")).rpartition("/")[2]
    if _DIRECTED in name:
        return _clean(definitions[name] | {key: value for key, value in node.items() if key != "$ref"}, definitions)
    if "anyOf" in node:
        node = _one_of(node, definitions)
    cleaned = {
        key: {field: _clean(inner, definitions) for field, inner in value.items()}
        if key in ("properties", "$defs")
        else value
        if key in ("default", "examples", *NOTES)
        else _clean(value, definitions)
        for key, value in node.items()
        if not (key == "title" and str(value)[:1].isupper())
    }
    listed = title_of(cleaned.get("items", cleaned))
    if "default" in cleaned and (written := as_written(cleaned.pop("default"), listed)) is not None:
        cleaned["default"] = written
    return cleaned


def _one_of(node: dict[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    """The node without the alternative null, which TOML does not have; a single alternative takes its place."""
    left = [one for one in node["anyOf"] if one.get("type") != "null"]
    if len(left) != 1:
        return node | {"anyOf": left}
    name = str(left[0].get("$ref", "")).rpartition("/")[2]
    inner = definitions[name] if _DIRECTED in name else left[0]
    own = {key: value for key, value in node.items() if key not in ("anyOf", "title")}
    return _one_of(inner | own, definitions) if "anyOf" in inner else inner | own


def title_of(schema: Mapping[str, Any]) -> str:
    """The kind of value; for a property with directions that of one direction."""
    plain = schema.get("anyOf", [schema])[0]
    return str(schema.get("title") or plain.get("title", ""))


def as_written(value: Any, title: str) -> Any:
    """A default as a file spells it; None if it stands for a missing value."""
    if isinstance(value, dict) and set(value) == {"forward", "reverse"}:
        value = value["forward"]
    if value is None or value in ([], {}) or (isinstance(value, dict) and title == ""):
        return None
    if title == "seeds":
        return len(value)
    if title == "loss":
        return RandomLoss(**value).words()
    if title == "jitter":
        return Jitter(**value).words()
    if isinstance(value, dict):
        value = value["mean"]
    if isinstance(value, list):
        return [_quantity(one, title) for one in value]
    return _quantity(value, title)


def _quantity(value: Any, title: str) -> Any:
    if title == "rate":
        return format_rate(value)
    if title.startswith("duration"):
        return format_duration(value) if value else "0s"
    return format_percent(value) if title == "percentage" else value


def _without(node: Any, dropped: tuple[str, ...]) -> Any:
    if isinstance(node, list):
        return [_without(item, dropped) for item in node]
    if not isinstance(node, dict):
        return node
    return {key: _without(value, dropped) for key, value in node.items() if key not in dropped}
