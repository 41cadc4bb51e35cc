"""Views: which there are, how they are called, and what they find."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest
from netwarp.scenario import parse_scenario
from netwarp.scenario.model.views import known_views
from netwarp.store.findings import Finding, Holds, read_findings, write_findings
from netwarp.store.result import ResultDir
from netwarp.views import write_views
from scenario_texts import replaced


def test_a_scenario_may_name_every_view_there_is() -> None:
    names = ", ".join(f'"{name}"' for name in known_views())
    scenario = parse_scenario(replaced(('name = "t"', f'name = "t"\nviews = [{names}]')))
    assert list(scenario.views) == known_views()
    assert parse_scenario(replaced(), settings=["views=[]"]).views == ()


def test_views_are_called_by_name_with_the_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def write(result: ResultDir, *, figures: bool = True) -> list[Path]:
        asked.append((result.path, figures))
        return [result.path / "some-study" / "table.csv"]

    module = ModuleType("netwarp.views.some_study")
    module.__dict__["write"] = write
    monkeypatch.setitem(sys.modules, "netwarp.views.some_study", module)
    assert write_views(ResultDir(tmp_path), ["some-study"], figures=False) == [tmp_path / "some-study" / "table.csv"]
    assert asked == [(tmp_path, False)]


def test_findings_come_back_as_they_were_written(tmp_path: Path) -> None:
    findings = [
        Finding('pfifo bloats, "much"', Holds.YES, "9.1 × RED's", "8.1 × RED's"),
        Finding("CUBIC is fairer", Holds.NO, "0.98 against 0.99"),
        Finding("UDP loses", Holds.INCONCLUSIVE, "no run of this is there"),
    ]
    assert read_findings(write_findings(tmp_path, findings)) == findings
