"""Programs that fork until the memory of the machine is full, and whose text is large."""

from __future__ import annotations

from pathlib import Path

from test_exec_memory import ends_a_program

PYTHONS = "import os\nwhile True: os.fork()"
"""In the end only its text is left of memory, and could be read again forever; a shell's is small."""


def test_a_fork_bomb_fills_the_memory(tmp_path: Path) -> None:
    ends_a_program(tmp_path, "python3", "-c", PYTHONS)
