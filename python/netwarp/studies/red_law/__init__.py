"""The rate of RED's drops, compared with its law."""

from pathlib import Path

from netwarp.studies.base import Study

STUDY = Study(
    scenarios=Path(__file__).parent / "scenarios",
    rows=("netwarp.studies.red_law.validation:family",),
    views={"red-law": "netwarp.studies.red_law.view:write"},
    needs={"red-law": "netwarp.studies.red_law.needs:lacking"},
)
