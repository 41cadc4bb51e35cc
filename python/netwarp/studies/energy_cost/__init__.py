"""What each congestion control and queue costs in energy, beside what they deliver."""

from pathlib import Path

from netwarp.studies.base import Study

STUDY = Study(
    scenarios=Path(__file__).parent / "scenarios",
    views={"energy-cost": "netwarp.studies.energy_cost.view:write"},
)
