"""A scenario whose programs wait by spinning, in each way that the tests know, beside a TCP flow."""

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


def scenario(folder: Path) -> str:
    """Return the scenario; its programs are compiled into the folder, which the runs must be allowed to read."""
    spins = compiled(SOURCES / "spins.c", folder / "spins")
    computes = compiled(SOURCES / "computes.c", folder / "computes", "-pthread")
    each = [f"{computes} {kind}" for kind in COMPUTING] + [f"{spins} {kind}" for kind in CALLS]
    return f"""\
name = "spinning"
duration = "{len(CALLS) + 2}s"
[nodes]
h1 = {{}}
h2 = {{}}
[links.l]
ends = ["h1", "h2"]
rate = "20mbit"
delay = "5ms"
queue = "fq_codel limit 100"
[flows.bulk]
from = "h1"
to = "h2"
tool = "bulk"
[flows.spin]
from = "h1"
to = "h2"
tool = "command"
client = ["sh", "-c", "{"; ".join(each)}"]
"""
