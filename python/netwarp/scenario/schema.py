"""A JSON Schema of the scenario format, for editors."""

from __future__ import annotations

from typing import Any

from netwarp.scenario.model import Scenario


def scenario_schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of a scenario file: completion and checks while typing, in editors that know TOML."""
    schema = Scenario.model_json_schema(by_alias=True, mode="validation")
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "netwarp scenario"
    return schema
