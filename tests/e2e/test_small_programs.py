"""Programs of others that are small and end soon; tests/nightly has the rest."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.programs import Program, programs, run_twice


@pytest.mark.parametrize("program", [program for program in programs() if program.fast], ids=lambda one: one.name)
def test_a_program(program: Program, tmp_path: Path) -> None:
    assert run_twice(program, tmp_path).problems == []
