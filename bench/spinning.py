"""Programs that wait by spinning, in each way that the tests know."""

from __future__ import annotations

import sys
from pathlib import Path

SOURCES = Path(__file__).parents[1] / "tests/e2e"
sys.path.append(str(SOURCES))
from e2e_compile import compiled  # noqa: E402

CALLS = ("getpid", "times", "yield", "poll", "masked", "read", "wait", "nap", "fork", "clock")
"""Kinds of tests/e2e/spins.c: system calls again and again, until a timer of a second."""
COMPUTING = (
    "flag 1000000",
    "floats 1000000",
    "exchange 1000000",
    "back-off 1000000",
    "spinlock",
    "turns",
    "neighbours",
)
"""Kinds of tests/e2e/computes.c: no system call, until another program writes to memory."""


DURATION_S = len(CALLS) + 2


def command(folder: Path) -> str:
    """The shell command that runs them all, compiled into the folder, which the runs must be allowed to read."""
    spins = compiled(SOURCES / "spins.c", folder / "spins")
    computes = compiled(SOURCES / "computes.c", folder / "computes", "-pthread")
    return "; ".join([f"{computes} {kind}" for kind in COMPUTING] + [f"{spins} {kind}" for kind in CALLS])
