"""Programs that others wrote, unmodified: two runs the same bytes, and the numbers that arithmetic gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.programs import Program, programs, run_twice


def _mark(program: Program) -> tuple[pytest.MarkDecorator, ...]:
    """What needs something that netwarp lacks fails; once it does not, the table has to say so."""
    reason = f"needs {program.needs}"
    return (pytest.mark.xfail(strict=not program.sometimes, reason=reason),) if program.needs else ()


@pytest.mark.parametrize(
    "program", [pytest.param(program, marks=_mark(program), id=program.name) for program in programs()]
)
def test_a_program(program: Program, tmp_path: Path) -> None:
    assert run_twice(program, tmp_path).problems == []
