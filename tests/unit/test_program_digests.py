"""The programs that flows start are part of what decides a result."""

from __future__ import annotations

from pathlib import Path

import pytest
from netwarp.engines import changed_programs, program_digests
from netwarp.plan import make_plan
from netwarp.scenario import parse_scenario
from netwarp.scenario.model import Scenario
from scenario_texts import replaced


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory that is all the search path there is."""
    monkeypatch.setattr("netwarp.engines.programs.SEARCH_PATH", str(tmp_path))
    for name in ("iperf3", "curl", "httpd", "other"):
        write(tmp_path / name, "1")
    return tmp_path


def write(path: Path, version: str) -> None:
    path.write_text(f"#!/bin/sh\necho {version}\n")
    path.chmod(0o755)


def scenario(tool: str, tail: str = "") -> Scenario:
    return parse_scenario(replaced(('tool = "bulk"', tool), tail=tail))


def names(of: Scenario) -> set[str]:
    return {name.removeprefix("program ") for name in program_digests(of)}


def test_a_scenario_of_built_in_flows_starts_no_program(programs: Path) -> None:
    assert program_digests(scenario('tool = "bulk"')) == {}


def test_programs_of_all_points_are_found(programs: Path) -> None:
    script = programs / "script.py"
    script.write_text("print()")
    tool = f'tool = "command"\nclient = ["curl", "-o", "{script}", "/no/such/file"]\nserver = ["httpd"]\n'
    swept = '[sweep]\n"flows.bulk.client" = [["curl"], ["other", "curl"], ["missing"]]\n'
    assert names(scenario(tool)) == {"curl", "httpd", str(script)}
    assert names(scenario(tool, swept)) == {"curl", "httpd", "other", str(script)}
    case = '[[cases]]\nname = "real"\nset = { "flows.bulk.client" = ["other"] }\n'
    assert names(scenario(tool, case)) == {"curl", "httpd", "other", str(script)}


def test_another_program_is_another_run(programs: Path) -> None:
    real = scenario('tool = "iperf3"')
    before = program_digests(real)
    assert set(before) == {"program iperf3"}
    assert changed_programs({"kernel": "k", **before}) == []
    first = make_plan(real, identity=before)
    (programs / "iperf3").unlink()
    write(programs / "iperf3", "2")
    assert changed_programs({"kernel": "k", **before}) == ["iperf3"]
    second = make_plan(real, identity=program_digests(real))
    assert first.id != second.id
    assert first.runs[0].id != second.runs[0].id
    (programs / "iperf3").unlink()
    assert changed_programs(before) == ["iperf3"]
    assert program_digests(real) == {}


def test_the_libraries_of_a_program_count() -> None:
    """iperf3's own file hardly changes from version to version: most of it is in libiperf."""
    from netwarp.engines.programs import _libraries

    (path,) = (place for place in (Path("/usr/bin/iperf3"),) if place.is_file())
    assert any("libiperf" in library for library in _libraries(str(path)))
