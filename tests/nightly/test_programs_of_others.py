"""Programs of others, unmodified: two runs with the same bytes, and the calculated numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.programs import Program, programs, run_twice


def _mark(program: Program) -> tuple[pytest.MarkDecorator, ...]:
    """A program that needs a missing feature fails; once it passes, the table has to be changed."""
    reason = f"needs {program.needs}"
    return (pytest.mark.xfail(strict=not program.sometimes, reason=reason),) if program.needs else ()


@pytest.mark.parametrize(
    "program", [pytest.param(program, marks=_mark(program), id=program.name) for program in programs()]
)
def test_a_program(program: Program, tmp_path: Path) -> None:
    assert run_twice(program, tmp_path).problems == []
