"""One Poisson source into one link at several loads (`md1`, `mm1`, `mm1k`), compared with queueing theory."""

from pathlib import Path

from netwarp.studies.base import Study

STUDY = Study(
    scenarios=Path(__file__).parent / "scenarios",
    rows=("netwarp.studies.queueing_theory.validation:family",),
    views={"queueing-theory": "netwarp.studies.queueing_theory.view:write"},
    needs={"queueing-theory": "netwarp.studies.queueing_theory.needs:lacking"},
)
