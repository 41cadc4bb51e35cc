"""Views: the available ones, and their findings."""

from __future__ import annotations

from pathlib import Path

from netwarp.scenario import parse_scenario
from netwarp.scenario.model.views import known_views
from netwarp.store.findings import Finding, Holds, read_findings, write_findings
from scenario_texts import replaced


def test_a_scenario_may_name_every_view_there_is() -> None:
    names = ", ".join(f'"{name}"' for name in known_views())
    scenario = parse_scenario(replaced(('name = "t"', f'name = "t"\nviews = [{names}]')))
    assert list(scenario.views) == known_views()
    assert parse_scenario(replaced(), settings=["views=[]"]).views == ()


def test_findings_come_back_as_they_were_written(tmp_path: Path) -> None:
    findings = [
        Finding('pfifo bloats, "much"', Holds.YES, "9.1 × RED's", "8.1 × RED's"),
        Finding("CUBIC is fairer", Holds.NO, "0.98 against 0.99"),
        Finding("UDP loses", Holds.INCONCLUSIVE, "no run of this is there"),
    ]
    assert read_findings(write_findings(tmp_path, findings)) == findings
