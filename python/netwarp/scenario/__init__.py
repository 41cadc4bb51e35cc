"""The scenario file: its format, its units, loading it, and what it sweeps."""

from netwarp.scenario.errors import Problem, ScenarioError
from netwarp.scenario.load import load_scenario, parse_scenario, shipped_scenarios
from netwarp.scenario.model import Scenario
from netwarp.scenario.notes import notes
from netwarp.scenario.schema import scenario_schema
from netwarp.scenario.template import new_scenario

__all__ = [
    "Problem",
    "Scenario",
    "ScenarioError",
    "load_scenario",
    "new_scenario",
    "notes",
    "parse_scenario",
    "scenario_schema",
    "shipped_scenarios",
]
