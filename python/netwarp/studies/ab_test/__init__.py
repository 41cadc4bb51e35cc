"""Experiments in production: their plan, their analysis, and the interference of treated flows with others."""

from pathlib import Path

from netwarp.studies.base import Study

STUDY = Study(
    scenarios=Path(__file__).parent / "scenarios",
    views={"ab-interference": "netwarp.studies.ab_test.view:write"},
    needs={"ab-interference": "netwarp.studies.ab_test.needs:lacking"},
    commands={"ab": "netwarp.studies.ab_test.command:ab_app"},
)
