"""The scenario file: its format, its units, loading it, and its sweep."""

from netwarp.scenario.errors import Problem, ScenarioError
from netwarp.scenario.load.loader import load_scenario, parse_scenario, shipped_scenarios
from netwarp.scenario.load.template import new_scenario
from netwarp.scenario.model import Scenario
from netwarp.scenario.model.schema import scenario_schema
from netwarp.scenario.points.notes import notes

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
