"""The cost of a command before its work: loaded modules, and models built to validate a scenario."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Annotated, Any, get_args

import pytest
from netwarp.flows import Flow
from netwarp.scenario import load_scenario
from netwarp.scenario.model import Record, RunOptions, Scenario
from netwarp.scenario.model.exec import Exec
from netwarp.scenario.model.exec_scenario import ExecScenario
from netwarp.scenario.model.run import Capture
from netwarp.shipped import shipped_scenarios, summary_in
from netwarp.values.fields import Model, Spread
from pydantic import Field, TypeAdapter, ValidationError

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


def test_kinds_of_flow_that_a_scenario_does_not_have_are_not_built() -> None:
    code = """
from netwarp.flows import KINDS
from netwarp.scenario import load_scenario
load_scenario("bufferbloat")
print(*sorted(tool for tool, kind in KINDS.items() if kind.model.__pydantic_complete__))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "bulk ping\n"


@pytest.mark.parametrize(
    "flow",
    [{"tool": "bulk", "from": 1}, {"tool": "bulk", "rate": "1mbit"}, {"tool": "nonsense"}, {"tool": 1}, {}, 7, None],
)
def test_a_flow_is_refused_as_by_a_union_of_all_kinds(flow: object) -> None:
    with pytest.raises(ValidationError) as refused:
        TypeAdapter(Flow).validate_python(flow)
    union: Any = Annotated[get_args(Flow)[0], Field(discriminator="tool")]
    with pytest.raises(ValidationError) as expected:
        TypeAdapter(union).validate_python(flow)
    assert refused.value.errors(include_url=False) == expected.value.errors(include_url=False)


def test_scenarios_are_listed_without_validating_any() -> None:
    code = """
import sys
from netwarp.cli import main
try:
    main()
finally:
    assert "pydantic" not in sys.modules, "loaded"
"""
    done = subprocess.run([sys.executable, "-c", code, "list"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "bufferbloat" in done.stdout


@pytest.mark.slow
def test_summaries_are_listed_as_the_scenarios_have_them() -> None:
    assert all(load_scenario(name).summary == summary_in(path) for name, path in shipped_scenarios().items())


def test_the_parser_is_loaded_after_what_has_to_be_set_before_loading() -> None:
    code = "import netwarp.cli, sys; print('cyclopts' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


def ending(*arguments: str, before: str = "") -> subprocess.CompletedProcess[str]:
    """The program with these arguments, after some code; a module says when it is taken apart."""
    code = f"""
import atexit, sys
class Kept:
    def __del__(self):
        print("taken apart")
sys.modules["kept"] = Kept()
atexit.register(print, "left")
{before}
sys.argv = ["netwarp", *{arguments}]
from netwarp.__main__ import program
program()
"""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_a_command_ends_at_once_with_its_output_and_its_exit_code() -> None:
    done = ending("list")
    assert done.returncode == 0, done.stderr
    assert "bufferbloat" in done.stdout
    assert done.stdout.splitlines()[-1] == "left"
    assert ending("nonsense").returncode == 2


@pytest.mark.slow
def test_a_command_that_is_profiled_ends_as_usual() -> None:
    done = ending("list", before="sys.setprofile(lambda *_: None)")
    assert (done.returncode, done.stdout.splitlines()[-2:]) == (0, ["left", "taken apart"])


@pytest.mark.slow
def test_linear_algebra_starts_no_threads_and_other_programs_do_not_see_why() -> None:
    code = """
import os, subprocess, sys
from netwarp import cli
from netwarp.engines.supervisor import start
cli._prepare_loading()
import numpy
print(len(os.listdir("/proc/self/task")))
print(start(["env"]).communicate()[0].decode())
"""
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    threads, *seen = done.stdout.splitlines()
    assert threads == "1"
    assert seen
    assert not any(line.startswith("OPENBLAS_NUM_THREADS") for line in seen)


@pytest.mark.slow
def test_settings_of_polars_allocator_are_not_those_of_other_programs() -> None:
    code = """
import os
from netwarp import cli
from netwarp.engines.supervisor import start
cli._prepare_loading()
import polars
print(os.environ["_RJEM_MALLOC_CONF"])
print(start(["env"]).communicate()[0].decode())
"""
    environment = {name: value for name, value in os.environ.items() if name != "_RJEM_MALLOC_CONF"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    own, *seen = done.stdout.splitlines()
    assert "background_thread:true" in own
    assert any(line.startswith("PATH=") for line in seen)
    assert not any("_RJEM_MALLOC_CONF" in line for line in seen)


@pytest.mark.slow
def test_a_page_without_figures_loads_no_library_that_draws() -> None:
    code = "import sys, netwarp.report.page, netwarp.report.tables, netwarp.steps.evaluation; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "netwarp.report.panels" in done.stdout
    assert "matplotlib" not in done.stdout
