"""Errors if one of the programs that are installed beside Python is missing."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from netwarp.common.agent import AgentMissingError, find_agent, find_observer


@pytest.mark.parametrize(
    ("find", "program", "fix"),
    [
        (find_agent, "netwarp-agent", "`make setup`"),
        (find_observer, "netwarp-observe", "`make setup`"),
    ],
)
def test_each_program_is_beside_python_or_on_path_or_named(
    find: Callable[[], Path], program: str, fix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    beside, on_path = tmp_path / "beside", tmp_path / "path"
    for folder in (beside, on_path):
        folder.mkdir()
    monkeypatch.setattr(sys, "executable", str(beside / "python"))
    monkeypatch.setenv("PATH", str(on_path))
    with pytest.raises(AgentMissingError) as error:
        find()
    assert f"The program {program} is missing" in str(error.value) and fix in str(error.value)
    for folder in (on_path, beside):
        (folder / program).write_text("")
        (folder / program).chmod(0o755)
        assert find() == folder / program
