"""The cost of a command before its work: loaded modules, and models built to validate a scenario."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from netwarp.scenario.model import Record, RunOptions, Scenario
from netwarp.scenario.model.exec import Exec
from netwarp.scenario.model.exec_scenario import ExecScenario
from netwarp.scenario.model.run import Capture
from netwarp.values.fields import Model, Spread

OPTIONS = {RunOptions, Record, Capture}


@pytest.mark.parametrize(("scenario", "needed"), [(Scenario, OPTIONS), (ExecScenario, {*OPTIONS, Exec, Spread})])
def test_a_scenario_is_validated_without_building_what_validates_its_parts(
    scenario: type[Scenario], needed: set[type[Model]]
) -> None:
    scenario.model_rebuild()
    assert set(models_in(scenario.__pydantic_core_schema__)) == {scenario, *needed}


def models_in(schema: Any) -> Iterator[type]:
    if isinstance(schema, dict):
        if schema.get("type") == "model":
            yield schema["cls"]
        yield from models_in([value for key, value in schema.items() if key != "metadata"])
    elif isinstance(schema, list | tuple):
        for inner in schema:
            yield from models_in(inner)


def test_the_parser_is_loaded_after_what_has_to_be_set_before_loading() -> None:
    code = "import netwarp.cli, sys; print('cyclopts' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
