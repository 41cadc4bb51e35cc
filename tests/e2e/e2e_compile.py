"""C programs of tests."""

from __future__ import annotations

import subprocess
from pathlib import Path


def compiled(source: Path, program: Path, *options: str) -> Path:
    """Compile a C file without warnings; return the program."""
    subprocess.run(["gcc", "-O2", "-Wall", "-Werror", *options, "-o", program, source], check=True)
    return program
