"""A JSON Schema of the scenario format, for editors."""

from __future__ import annotations

from typing import Any

from netwarp.scenario.model import Scenario

_DIRECTED = "Directed_"


def scenario_schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of a scenario file: completion and checks while typing, in editors that know TOML."""
    schema = Scenario.model_json_schema(by_alias=True, mode="validation")
    definitions = schema["$defs"]
    cleaned: dict[str, Any] = _clean(schema, definitions)
    kept = {name: body for name, body in cleaned["$defs"].items() if _DIRECTED not in name}
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return head | cleaned | {"title": "netwarp scenario", "$defs": kept}


def _clean(node: Any, definitions: dict[str, Any]) -> Any:
    """Put the two forms of a link property in its place, and drop defaults that a file would not spell that way."""
    if isinstance(node, list):
        return [_clean(item, definitions) for item in node]
    if not isinstance(node, dict):
        return node
    name = str(node.get("$ref", "")).rpartition("/")[2]
    if _DIRECTED in name:
        return _clean(definitions[name], definitions)
    spelled = isinstance(node.get("default"), str | bool) or node.get("type") == "integer"
    return {key: _clean(value, definitions) for key, value in node.items() if key != "default" or spelled}
