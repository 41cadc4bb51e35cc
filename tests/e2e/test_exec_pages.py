"""A command's programs get additional pages at a page fault, while memory is plentiful (netwarp_fault.c)."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from e2e_command import netwarp

AROUND = 16
"""Pages of 64 KiB, the default of Linux for reads (fault_around_bytes)."""


def test_a_first_write_brings_its_surroundings(tmp_path: Path) -> None:
    program = Path(__file__).with_name("pages.py")
    answer = netwarp("exec", "-o", tmp_path / "result", "--", sys.executable, program, cwd=tmp_path)
    assert answer.code == 0, answer.err
    assert json.loads(answer.out) == {
        "new": AROUND,
        "of a file that it has read": AROUND,
        "of a file that it shares": 0,
        "random": 1,
        "shared with a child": 1,
        "in a group": 1,
        "with much taken": 1,
    }
