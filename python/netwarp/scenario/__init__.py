"""The scenario file: its format, its units, loading it, and its sweep."""

from netwarp.scenario.errors import Problem, ScenarioError
from netwarp.scenario.load.loader import load_scenario, parse_scenario
from netwarp.scenario.model import Scenario
from netwarp.scenario.points.notes import notes
from netwarp.shipped import shipped_scenarios

__all__ = [
    "Problem",
    "Scenario",
    "ScenarioError",
    "load_scenario",
    "notes",
    "parse_scenario",
    "shipped_scenarios",
]
