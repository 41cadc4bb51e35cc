"""The teaching labs as a whole: runs, tables and figures."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from bench.command import clocked
from bench.row import Row, measure

# name, content, seconds that it may take on two idle CPUs, virtual seconds in all
_LABS = (
    ("mitigate", "six disciplines, 60 s each", 20, 6 * 60),
    ("tcp-vs-udp", "12 runs of 60 s and 6 of 10 s", 30, 13 * 60),
    ("differential", "13 runs of 60 s", 40, 13 * 60),
)


@measure
def labs(place: Path) -> Iterator[Row]:
    """Run each lab as its page says."""
    place.mkdir()
    for name, what, bar, virtual_s in _LABS:
        yield Row(
            f"{name}: {what}, with figures", clocked("run", name, "-o", str(place / name)), bar, virtual_s=virtual_s
        )
