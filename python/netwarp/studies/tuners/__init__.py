"""Tuners of the hosts, each compared with the default."""

from pathlib import Path

from netwarp.studies.base import Study

STUDY = Study(
    scenarios=Path(__file__).parent / "scenarios",
    views={"tuners": "netwarp.studies.tuners.view:write"},
    needs={"tuners": "netwarp.studies.tuners.needs:lacking"},
)
