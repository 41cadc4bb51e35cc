"""The coexistence matrix: each congestion control beside each other one."""

from pathlib import Path

from netwarp.studies.base import Study

STUDY = Study(
    scenarios=Path(__file__).parent / "scenarios",
    views={"coexistence-matrix": "netwarp.studies.coexistence_matrix.view:write"},
    needs={"coexistence-matrix": "netwarp.studies.coexistence_matrix.needs:lacking"},
)
