"""The energy cost of each congestion control and queue, beside its performance."""

from pathlib import Path

from netwarp.studies.base import Study

STUDY = Study(
    scenarios=Path(__file__).parent / "scenarios",
    views={"energy-cost": "netwarp.studies.energy_cost.view:write"},
    needs={"energy-cost": "netwarp.studies.energy_cost.needs:lacking"},
)
